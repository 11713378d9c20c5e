// Package content shows what a document holds, as a page over a list, and saves it to a
// file. The documents of an operation and a customer's files share it.
package content

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
	"opdeck/ui/preview"
	"opdeck/ui/widget"
)

// Client hands out what a document holds: one customer call each.
type Client interface {
	// ShowDocument reads a document to be shown, of a large one the beginning.
	ShowDocument(ctx context.Context, cuid, id string) (api.Part, error)
	// SaveDocument writes it to a file of this host. The error is fs.ErrExist when the file
	// is there already and over is false.
	SaveDocument(ctx context.Context, cuid, id, path string, over bool) (full string, err error)
	// Viewer names the program that documents are handed to and the folder where their
	// files are meanwhile, or says why there is none. It does not wait.
	Viewer() (program, folder, why string)
	// ViewDocument writes the document to a file of this host that only its owner may read,
	// hands the terminal to the program of Viewer, and removes the file when that has ended.
	ViewDocument(ctx context.Context, cuid, id, name string) error
	// NoFiles says why files of this host are out of reach, "" when they are not.
	NoFiles(ctx context.Context) string
}

// Document is what is known of a document before it is read.
type Document struct {
	CUID, ID         string
	Name, Kind, MIME untrusted.Text
	Size             int64 // bytes; -1: not known
}

// Line names the document in a sentence.
func (d Document) Line() string { return cmp.Or(d.Name.Line(60), draw.ID(d.ID, 36)) }

// Facts are what was told of the document, its id apart: a question shows that by itself.
func (d Document) Facts() []widget.Pair {
	return append([]widget.Pair{{Label: "document", Value: d.Line(), Long: true}, {Label: "size", Value: draw.Size(d.Size)}}, widget.SaidAll("type", d.Kind.Line(64), "media type", d.MIME.Line(128))...)
}

// page is an open document; what it holds is gone with it.
type page struct {
	doc   Document
	got   *preview.Content
	err   *api.Error
	w, h  int
	drawn []string // for w and h; nil: not yet
}

// Open opens a page over l with what the document holds, and reads it.
func Open[T any](l *list.List[T], client Client, d Document) tea.Cmd {
	p, env := &page{doc: d}, l.Env
	l.Open(d.ID, func(w int) []string {
		_, h := l.Size()
		return p.lines(env, w, h)
	}).Title = "Content of " + d.Line()
	return env.Read(nil, func(ctx context.Context) ui.Then {
		part, err := client.ShowDocument(ctx, d.CUID, d.ID)
		var got *preview.Content
		if err == nil {
			c := preview.Of(part)
			got = &c
		}
		return func() (ui.Action, tea.Cmd) {
			p.got, p.err, p.drawn = got, api.AsError(err), nil
			return nil, nil
		}
	})
}

const plainLines = 200 // of a content that is said

func (p *page) lines(env *ui.Env, w, h int) []string {
	if p.drawn != nil && p.w == w && p.h == h {
		return p.drawn
	}
	th := env.Theme
	facts := widget.Pairs(th, p.facts(), w)
	switch {
	case p.err != nil:
		facts = append(facts, "", th.Bad.Render(th.Signs.Bad+" "+p.err.Public))
	case p.got == nil:
		return append(facts, "", th.Dim.Render("Reading the document …"))
	default:
		if odd := p.got.Differs(p.doc.MIME); odd != "" {
			facts = append(facts, th.Warn.Render(th.Signs.Warn+" "+odd))
		}
		if p.doc.Size >= 0 && p.got.Total >= 0 && p.doc.Size != p.got.Total {
			facts = append(facts, th.Warn.Render(th.Signs.Warn+" The service names another size than was read."))
		}
		if p.got.Cut() {
			facts = append(facts, th.Warn.Render(draw.Cut(th.Signs.Warn+" This is only the beginning; the rest was not fetched. "+env.Keys.Documents.Save.Help().Key+" saves all of it to a file: one more customer call.", w)))
		}
		for _, n := range p.got.Notes {
			facts = append(facts, th.Dim.Render(n))
		}
		shown := p.got.Lines(th, w, max(h-2, 8))
		if th.Linear && len(shown) > plainLines {
			shown = append(shown[:plainLines:plainLines], "The first "+draw.Count(plainLines)+" lines are shown.")
		}
		facts = append(append(facts, "", th.Title.Render(p.got.Kind())), shown...)
	}
	p.w, p.h, p.drawn = w, h, facts
	return facts
}

// facts are what was told of the document and what its bytes tell.
func (p *page) facts() []widget.Pair {
	out := append([]widget.Pair{{Label: "id", Value: untrusted.Text(p.doc.ID).Line(64)}}, p.doc.Facts()...)
	if p.got == nil {
		return out
	}
	out = append(out, widget.Pair{Label: "bytes are", Value: p.got.TypeWord()}, widget.Pair{Label: "bytes read", Value: p.got.Read()})
	if p.got.SHA256 != "" {
		out = append(out, widget.Pair{Label: "SHA-256", Value: p.got.SHA256, Long: true})
	}
	if p.got.Width > 0 {
		out = append(out, widget.Pair{Label: "picture", Value: draw.Count(p.got.Width) + " x " + draw.Count(p.got.Height) + " pixels"})
	}
	if p.got.Pages > 0 {
		out = append(out, widget.Pair{Label: "pages", Value: draw.Count(p.got.Pages)})
	}
	return append(out, widget.SaidAll("title", p.got.Title)...)
}

// AskSave asks for the file that a document is saved to; where files of this host are out
// of reach, it says by which command the document is saved elsewhere.
func AskSave(env *ui.Env, client Client, d Document) ui.Action {
	if why := client.NoFiles(env.Ctx); why != "" {
		cmd := "ssh " + cmp.Or(api.ActorOf(env.Ctx).Login, "NAME") + "@HOST document download " + d.CUID + " " + d.ID + " - > " + quoted(FileName(d))
		return ui.Explain{Title: "Save document", Lines: []string{why, "Run this where the file is to be, with the name of this server for HOST."},
			Facts: []widget.Pair{{Label: "command", Value: untrusted.Text(cmd).Line(400), Long: true}}, Copy: ui.Copy{Text: cmd, What: "the command"}}
	}
	return ui.Ask{Title: "Save document", Verb: "Save", Intro: []string{"Saves " + d.Line() + " to a file that only you may read. One customer call; the audit trail tells of it."},
		Fields: []widget.Field{{Label: "File on this host", Value: FileName(d), Max: 4096, Check: checkPath}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) { return save(env, client, d, expand(v.Text(0)), false), nil }}
}

// save saves the document; a file that is there already is a question.
func save(env *ui.Env, client Client, d Document, path string, over bool) ui.Action {
	return ui.Write{What: "save " + d.Line(), Cmd: saving(env, client, d, path, over)}
}

func saving(env *ui.Env, client Client, d Document, path string, over bool) tea.Cmd {
	return env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
		full, err := client.SaveDocument(ctx, d.CUID, d.ID, path, over)
		done := "Saved " + d.Line() + " to " + untrusted.Text(full).Line(300) + "."
		return func() (ui.Action, tea.Cmd) {
			if !over && errors.Is(err, fs.ErrExist) {
				return ui.Confirm{ID: d.ID, Title: "The file is there already", Ask: "Overwrite " + untrusted.Text(filepath.Base(full)).Line(80) + "?", Verb: "Overwrite",
					Risk: "What it holds now is lost.", SkipTypedConfirmation: true, Facts: []widget.Pair{{Label: "file", Value: untrusted.Text(full).Line(300), Long: true}},
					Yes: func(ui.Seen) tea.Cmd { return saving(env, client, d, path, true) }}, nil
			}
			return ui.Ended("Saving", done, err), nil
		}, ui.EndedElsewhere("Not saved", done, err)
	})
}

// NoViewer says why documents cannot be handed to another program; "" when they can.
func NoViewer(client Client) string {
	_, _, why := client.Viewer()
	return why
}

// AskView asks before a document is written to a file and another program gets it.
func AskView(env *ui.Env, client Client, d Document) ui.Action {
	program, folder, _ := client.Viewer()
	return ui.Confirm{ID: d.ID, Title: "Open in another program", Ask: "Write " + d.Line() + " to a temporary file and open it?", Verb: "Open", SkipTypedConfirmation: true,
		Facts: append(d.Facts(), widget.Pair{Label: "program", Value: untrusted.Text(program).Line(300), Long: true},
			widget.Pair{Label: "file in", Value: untrusted.Text(folder).Line(300), Long: true}),
		Risk: "The document is on disk unmasked, in a file that only you may read, until the program has ended. One customer call; the audit trail tells of it.",
		Yes: func(ui.Seen) tea.Cmd {
			return env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				err := client.ViewDocument(ctx, d.CUID, d.ID, FileName(d))
				const done = "The program has ended, and the temporary file is removed."
				return func() (ui.Action, tea.Cmd) { return ui.Ended("Opening in another program", done, err), nil }, ui.EndedElsewhere("Not opened", done, err)
			})
		},
		No: func() ui.Action { return ui.Notify{Level: ui.Info, Text: "Not opened. Nothing was written."} }}
}

func checkPath(v string) error {
	if strings.TrimSpace(v) == "" || strings.ContainsRune(v, 0) {
		return &api.Error{Kind: api.Usage, Public: "Name a file."}
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

// FileName is the document's name as a file of this host may have it: no folder, nothing
// hidden, no character that a shell or a terminal would act on.
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
