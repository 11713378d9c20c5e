package documents

import (
	"context"
	"path/filepath"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/internal/system/folder"
	"opdeck/ui"
	"opdeck/ui/widget"
	"opdeck/views/storedfile"
)

// fileFields returns the fields for a file of the host that runs the console; kind and info are
// their initial values.
func (s *changes) fileFields(kind, info string) []widget.Field {
	return []widget.Field{
		{Name: api.FieldFile, Label: "File on this host", Hint: "~/invoice.pdf", Check: checkFile, Max: 4096,
			Complete: complete, Look: lookAtFile},
		{Name: api.FieldType, Label: "Type", Optional: true, Hint: "INVOICE, CONTRACT …", Max: maxKind, Value: kind,
			Options: s.types(), Capitals: true},
		{Label: "Description", Optional: true, Max: maxInfo, Value: info, Paste: widget.PasteKeep},
	}
}

// types are the document types that can be chosen: those of the operation's documents
// first, then those that the service names, then others that its answers showed.
func (s *changes) types() []widget.Option {
	var here []string
	for _, d := range s.latest.Op.Documents {
		if t, ok := takeOver(d.DocType, maxKind); ok {
			here = append(here, t)
		}
	}
	return storedfile.TypeOptions(here, api.DocumentTypes(), s.seenTypes)
}

// The longest type and info that can be typed, in characters.
const (
	maxKind = storedfile.MaxType
	maxInfo = 255
)

// takeOver is a text of a document as a field can hold it; ok is false when it would
// not stay to the letter.
func takeOver(u untrusted.Text, most int) (s string, ok bool) {
	if s = u.Line(most); s != string(u) {
		return "", false
	}
	return s, true
}

// checkFile looks at the text only: the file itself is looked at in a command.
func checkFile(v string) error {
	if v == "" {
		return &api.Error{Kind: api.Usage, Public: "Enter a file name."}
	}
	if strings.ContainsRune(v, 0) {
		return &api.Error{Kind: api.Usage, Public: "Not a valid file name."}
	}
	return nil
}

// lookAtFile says how large a file is and what it holds; its error says why the service
// would not take it.
func lookAtFile(_ context.Context, path string) (string, error) {
	path = folder.Expand(path)
	size, begins, err := folder.Look(path)
	if err != nil {
		return "", err
	}
	if err := api.CheckFile(path, size, begins); err != nil {
		return "", err
	}
	return format.Size(size) + ", " + api.MediaType(path, begins), nil
}

// complete lists the files and folders that a typed path can continue with.
func complete(ctx context.Context, typed string) (widget.Completion, error) {
	found, err := folder.Complete(ctx, typed)
	out := widget.Completion{Common: found.Common, More: found.More}
	for _, n := range found.Found {
		o := widget.Option{Value: n.Path, Text: untrusted.Text(n.Name).Line(200), Opens: n.Folder}
		switch {
		case n.Broken:
			o.About = "link to nothing"
		case n.Link:
			o.About = "link"
		}
		if n.Folder {
			o.Text += "/"
		}
		out.Options = append(out.Options, o)
	}
	return out, err
}

// file is what the fields of a file say.
type file struct {
	path, name, kind, info string
	holds                  string // size and media type, as far as they are known
}

// fileFrom reads the fields. A type is written in capitals, but for known, which stays
// to the letter.
func fileFrom(v ui.Values, known string) file {
	path, kind := folder.Expand(v.Text(0)), strings.TrimSpace(v.Text(1))
	if kind != known {
		kind = strings.ToUpper(kind)
	}
	return file{path, untrusted.Text(filepath.Base(path)).Line(60), kind, v.Text(2), v.Said(0)}
}

// read reads the file, to be sent for the operation's customer.
func (f file) read(ctx context.Context, parts Parts, op api.Operation) (api.Upload, error) {
	u, err := parts.Read(ctx, f.path)
	u.CUID, u.Type, u.Info = string(op.Customer.CUID), f.kind, f.info
	return u, err
}

// asked is the file in a question.
func (f file) asked() present.AskedFile {
	return present.AskedFile{Path: f.path, Name: f.name, Holds: f.holds, Type: f.kind, Info: f.info}
}
