package storedfile

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
)

// FileList holds a customer's files as far as they were read, for choosing one. It is
// immutable.
type FileList struct {
	list.Pages[api.CustomerFile]
	Err error // of the last read

	caller endpoint.Caller
	cuid   string
}

// NewFileList returns the list before the first read.
func NewFileList(caller endpoint.Caller, cuid string) FileList {
	return FileList{Pages: list.Pages[api.CustomerFile]{ID: func(f api.CustomerFile) string { return string(f.ID) }},
		caller: caller, cuid: cuid}
}

// ReadOn reads the next page, in a command, and returns the new list.
func (f FileList) ReadOn(ctx context.Context) FileList {
	at := f.Next()
	got, err := endpoint.Do(ctx, f.caller, endpoint.ListFiles,
		endpoint.FileQuery{CUID: f.cuid, Page: at.Page, Next: at.Next})
	if f.Err = err; err == nil {
		f.Pages = f.With(at, got)
	}
	return f
}

// NotRead says why the last read failed; "" if it did not.
func (f FileList) NotRead() string {
	if f.Err == nil {
		return ""
	}
	return "The customer's files could not be read: " + untrusted.Text(api.AsError(f.Err).Public).Line(200)
}

// Newest returns the files with an id, newest first.
func (f FileList) Newest() []Document {
	files := slices.Clone(f.All)
	slices.SortStableFunc(files, func(a, b api.CustomerFile) int { return b.Made().Compare(a.Made().Time) })
	var out []Document
	for _, file := range files {
		if file.ID != "" {
			out = append(out, FileOf(f.cuid, file))
		}
	}
	return out
}

// Choice returns the document as an item of a menu. state says what else matters about it; "": nothing. A narrow menu
// drops type and id; long names leave room for size, time and state.
func (d Document) Choice(env *ui.Env, state string) ui.Choice {
	if d.Locked {
		state = strings.TrimPrefix(state+", locked", ", ")
	}
	return ui.Choice{Text: cmp.Or(draw.Middle(d.Name.Line(200), 60), draw.ID(d.ID, 36)),
		Cells: []ui.Cell{{Text: draw.PadLeft(format.Size(d.Size), 6), Whole: true},
			{Text: format.Minute(d.Created.Time, env.Zone()), Whole: true}, {Text: state, Whole: true},
			{Text: cmp.Or(d.Kind.Line(30), "no type")}, {Text: draw.ID(d.ID, 13)}},
		Words: []string{untrusted.Text(d.ID).Line(64), d.Name.Line(200)}}
}

// Choose returns the menu that show builds from the files. At its end it reads the next page and moves the
// mark to the first new file.
func (f FileList) Choose(show func(FileList) ui.Choose) ui.Choose {
	out := show(f)
	if out.Foot = f.Read("files"); f.Err != nil {
		out.Foot = f.NotRead()
	}
	if f.Ended() {
		return out
	}
	out.Further, out.More = "More files (one customer call)", func(ctx context.Context) func() ui.Choose {
		now := f.ReadOn(ctx)
		return func() ui.Choose {
			out := now.Choose(show)
			if now.Err != nil {
				out.At = len(out.Items) - 1
			} else if len(now.All) > len(f.All) {
				first := string(now.All[len(f.All)].ID)
				out.At = slices.IndexFunc(out.Items, func(c ui.Choice) bool { return slices.Contains(c.Words, first) })
			}
			return out
		}
	}
	return out
}
