// Package storedfile saves the content of a document to a file. The screens of an
// operation's documents and of a customer's files use it.
package storedfile

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
	"opdeck/ui/widget"
)

// Save writes the content of a document to a file of this host, for one customer call. The error is fs.ErrExist when
// the file is there already and over is false.
type Save func(ctx context.Context, cuid, id, path string, over bool) (full string, err error)

// NoFiles says why files of this host are out of reach, "" when they are not.
func NoFiles(ctx context.Context) string {
	if api.ActorOf(ctx).Via == "ssh" {
		return "Files would be the server's, not yours; use the command over SSH, with - for the file."
	}
	return ""
}

// Document has the known facts of a document before its content is read.
type Document struct {
	CUID, ID         string
	Name, Kind, MIME untrusted.Text
	Size             int64    // bytes; -1: not known
	Attached         bool     // to an operation: a document; else a file of the customer's store
	Created          api.Time // zero: not known
	Locked           bool     // as far as the service says
}

// FileOf has the facts of a file in a customer's store.
func FileOf(cuid string, f api.CustomerFile) Document {
	d := Document{CUID: cuid, ID: string(f.ID), Name: f.Title(), Kind: f.Type, MIME: f.MIME, Size: f.Size,
		Created: f.Made(), Locked: f.Lock().Is()}
	return d
}

// what is the glossary's word for it.
func (d Document) what() string {
	if d.Attached {
		return "document"
	}
	return "file"
}

// Line names the document in a sentence.
func (d Document) Line() string { return cmp.Or(d.Name.Line(60), draw.ID(d.ID, 36)) }

// Facts returns the facts of the document without its id, which a question shows separately.
func (d Document) Facts(env *ui.Env) []widget.Pair {
	return env.Pairs(append([]present.Fact{{Label: d.what(), Value: d.Line(), Long: true}},
		append(present.Texts("type", d.Kind.Line(64), "media type", d.MIME.Line(128)),
			present.Fact{Label: "size", Value: format.Size(d.Size)})...), nil)
}

// Show opens a page above l with the facts of a document, and how to see its content.
// It costs no call.
func Show[T any](l *list.List[T], d Document, facts func() []widget.Pair) {
	env := l.Env
	l.Open(d.ID, strings.ToUpper(d.what()[:1])+d.what()[1:]+" "+d.Line(), func(w int) []string {
		out := append(widget.Pairs(env.Theme, facts(), w), "")
		for _, line := range draw.Wrap(env.Way(env.Keys.Documents.Save)+" saves it to a file that you name.", w) {
			out = append(out, env.Theme.Dim.Render(line))
		}
		return out
	})
}

// AskSave asks for the target file of a document. If the person cannot use files of this host,
// it shows a command that saves the document on their own.
func AskSave(env *ui.Env, to Save, d Document) ui.Action {
	if why := NoFiles(env.Ctx); why != "" {
		cmd := "ssh " + cmp.Or(api.ActorOf(env.Ctx).Login, "NAME") + "@HOST document download " + d.CUID + " " + d.ID +
			" - > " + quoted(FileName(d))
		return ui.Explain{Title: "Save " + d.what(), Lines: []string{why,
			"Run this where you want the file. Replace HOST with the name of this server."},
			Facts: []widget.Pair{{Label: "command", Value: untrusted.Text(cmd).Line(400), Long: true}},
			Copy:  ui.Copy{Text: cmd, What: "the command"}}
	}
	return ui.Ask{Title: "Save " + d.what(), Verb: "Save",
		Intro: []string{"Saves " + d.Line() + " to a file that only you can read. One customer call; the audit trail " +
			"records it."},
		Fields: []widget.Field{{Name: api.FieldFile, Label: "File on this host", Value: FileName(d), Max: 4096,
			Check: checkPath}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) { return save(env, to, d, expand(v.Text(0)), false), nil }}
}

// save saves the document; a file that is there already is a question.
func save(env *ui.Env, to Save, d Document, path string, over bool) ui.Action {
	return ui.Write{What: "save " + d.Line(), Cmd: saving(env, to, d, path, over)}
}

func saving(env *ui.Env, to Save, d Document, path string, over bool) tea.Cmd {
	return env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
		full, err := to(ctx, d.CUID, d.ID, path, over)
		done := "Saved " + d.Line() + " to " + untrusted.Text(full).Line(300) + "."
		return func() (ui.Action, tea.Cmd) {
			if !over && errors.Is(err, fs.ErrExist) {
				return ui.Confirm{ID: d.ID, IDLabel: d.what() + " id", Title: "The file exists",
					Ask: "Overwrite " + untrusted.Text(filepath.Base(full)).Line(80) + "?", Verb: "Overwrite",
					Risk: "Its current content will be lost.", SkipTypedConfirmation: true,
					Facts: []widget.Pair{{Label: "overwrites", Value: untrusted.Text(full).Line(300), Long: true}},
					Yes:   func(ui.Seen) tea.Cmd { return saving(env, to, d, path, true) }}, nil
			}
			return ui.Ended("Saving", done, err), nil
		}, ui.EndedElsewhere("Not saved", done, err)
	})
}

func checkPath(v string) error {
	if strings.TrimSpace(v) == "" || strings.ContainsRune(v, 0) {
		return &api.Error{Kind: api.Usage, Public: "Enter a file name."}
	}
	return nil
}

func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// FileName returns the document's name as a safe file name: no folder, no
// hidden file, no character with a meaning for a shell or terminal.
func FileName(d Document) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.+() ", r) {
			return r
		}
		return '_'
	}, draw.Middle(d.Name.Line(512), 120))
	if name = strings.Trim(name, ". _-"); name == "" {
		return "document-" + untrusted.Text(d.ID).Line(64)
	}
	return name
}

// quoted is a word for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

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

// MaxType is the longest type of a document that can be typed, in characters.
const MaxType = 64

// mostSeen is the maximum of offered types that only answers showed.
const mostSeen = 50

// TypeOptions returns the document types to choose from: first, then the known ones, then
// those that only the service's answers showed, which are marked. It omits a type that a
// field cannot hold unchanged.
func TypeOptions(first, known []string, seen []untrusted.Text) []widget.Option {
	var out []widget.Option
	add := func(t, about string) {
		if t != "" && !slices.ContainsFunc(out, func(o widget.Option) bool { return o.Value == t }) {
			out = append(out, widget.Option{Value: t, About: about})
		}
	}
	for _, t := range first {
		add(t, "document type used here")
	}
	for _, t := range known {
		about := ""
		if slices.Contains(seen, untrusted.Text(t)) {
			about = "seen in answers"
		}
		add(t, about)
	}
	listed := len(out)
	for _, u := range seen {
		if t := u.Line(MaxType); t == string(u) && strings.ToUpper(t) == t && len(out)-listed < mostSeen {
			add(t, "seen in answers, not documented")
		}
	}
	return out
}
