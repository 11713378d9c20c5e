package console

import (
	"context"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/views/operations"
)

// hostFiles reads and writes local files for the screens. Over SSH they would be the server's, not the person's, so
// each method returns a refusal.
type hostFiles struct{ app *app.App }

// noFiles says why local files are not available, "" if they are.
func noFiles(ctx context.Context) string {
	if api.ActorOf(ctx).Via == "ssh" {
		return "Files would be the server's, not yours; use the command over SSH, with - for the file."
	}
	return ""
}

func refuseFiles(ctx context.Context, op string) error {
	if why := noFiles(ctx); why != "" {
		return api.Refusal(op, api.RuleFile, "%s", why)
	}
	return nil
}

// NoFiles says why local files are not available, "" if they are.
func (h hostFiles) NoFiles(ctx context.Context) string { return noFiles(ctx) }

// ReadUpload reads a file to upload.
func (h hostFiles) ReadUpload(ctx context.Context, path string) (api.Upload, error) {
	if err := refuseFiles(ctx, "upload document"); err != nil {
		return api.Upload{}, err
	}
	return app.ReadUpload(path)
}

// SaveDocument writes a customer's document to a file.
func (h hostFiles) SaveDocument(ctx context.Context, cuid, id, path string, over bool) (string, error) {
	if err := refuseFiles(ctx, "save document"); err != nil {
		return "", err
	}
	return app.SaveDocument(ctx, h.app.Client, cuid, id, path, over)
}

// Export writes a sheet of operations to a new file.
func (h hostFiles) Export(ctx context.Context, s index.Sheet, path string,
	progress func(done, total int)) (operations.Exported, error) {
	if err := refuseFiles(ctx, "export"); err != nil {
		return operations.Exported{}, err
	}
	e, err := h.app.Mirror().Export(ctx, s, path, progress)
	return operations.Exported{Rows: e.Rows, Path: e.Path, Size: e.Size, Fresh: e.Fresh,
		Lacks: e.Lacks}, err
}
