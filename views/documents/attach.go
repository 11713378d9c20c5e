package documents

import (
	"cmp"
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
	"opdeck/ui/widget"
	"opdeck/views/content"
)

// pickFile reads the first of the customer's files, one customer call, and offers them for
// attaching. An id can be typed or pasted instead.
func (s *Screen) pickFile() tea.Cmd {
	s.Doing = "reading the customer's files"
	read := s.readFiles(list.Pages[api.CustomerFile]{ID: func(f api.CustomerFile) string { return string(f.ID) }})
	return s.env.Read(nil, func(ctx context.Context) ui.Then {
		files, err := read(ctx)
		return func() (ui.Action, tea.Cmd) {
			s.Doing = ""
			if err != nil {
				return ui.Many{ui.Notify{Level: ui.Warning, Text: notRead(err)}, s.askAttach()}, nil
			}
			return s.chooseFile(files), nil
		}
	})
}

func notRead(err error) string {
	return "The customer's files could not be read: " + api.AsError(err).Public
}

// readFiles reads the page of files that follows those of read, in a command.
func (s *Screen) readFiles(read list.Pages[api.CustomerFile]) func(context.Context) (list.Pages[api.CustomerFile], error) {
	client, cuid := s.client, string(s.Op.Customer.CUID)
	return func(ctx context.Context) (list.Pages[api.CustomerFile], error) {
		got, err := client.CustomerFiles(ctx, cuid, read.Next())
		if err != nil {
			return read, err
		}
		return read.With(read.Next(), got), nil
	}
}

// choosable are the files in the order in which they are offered: those removed here, the
// last one first, then the newest, and last those that are attached already.
func (s *Screen) choosable(files []api.CustomerFile) []content.Document {
	cuid := string(s.Op.Customer.CUID)
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b api.CustomerFile) int { return b.Made().Compare(a.Made()) })
	var out []content.Document
	for _, r := range slices.Backward(s.undone) {
		d := content.Document{CUID: cuid, ID: r.guid, Name: untrusted.Text(r.name), Size: -1}
		if i := slices.IndexFunc(files, func(f api.CustomerFile) bool { return string(f.ID) == r.guid }); i >= 0 {
			d.Kind, d.MIME, d.Size = files[i].Type, files[i].MIME, files[i].Size
		}
		out = append(out, d)
	}
	for _, f := range files {
		if f.ID != "" && !slices.ContainsFunc(out, func(d content.Document) bool { return d.ID == string(f.ID) }) {
			out = append(out, content.Document{CUID: cuid, ID: string(f.ID), Name: f.Title(), Kind: f.Type, MIME: f.MIME, Size: f.Size})
		}
	}
	slices.SortStableFunc(out, func(a, b content.Document) int { return cmp.Compare(s.attached(a), s.attached(b)) })
	return out
}

// attached is 1 for a document of this operation, else 0.
func (s *Screen) attached(d content.Document) int {
	if _, there := s.Op.Document(d.ID); there {
		return 1
	}
	return 0
}

// chooseFile offers the files that were read; the end of the list reads on.
func (s *Screen) chooseFile(files list.Pages[api.CustomerFile]) ui.Choose {
	offered := s.choosable(files.All)
	items := make([]ui.Choice, len(offered), len(offered)+1)
	for i, d := range offered {
		items[i] = ui.Choice{Text: d.Line(), About: cmp.Or(d.Kind.Line(30), "no type"), Note: draw.PadLeft(draw.Size(d.Size), 6) + "  " + draw.ID(d.ID, 13), Words: []string{untrusted.Text(d.ID).Line(64)}}
		if s.attached(d) > 0 {
			items[i].Why = "Attached here."
		} else if i < len(s.undone) {
			items[i].About += ", removed here"
		}
	}
	items = append(items, ui.Choice{Text: "Another file", About: "by its id, with another name there if you like", Words: []string{"id"}})
	out := ui.Choose{Title: "Attach a file of the customer", Items: items, Foot: files.Read("files"),
		Typed: func(id string) (ui.Action, bool) {
			return s.confirmAttach(content.Document{ID: id, Size: -1}, ""), api.CheckID("document id", id) == nil
		},
		Pick: func(i int) (ui.Action, tea.Cmd) {
			if i == len(offered) {
				return s.askAttach(), nil
			}
			return s.confirmAttach(offered[i], ""), nil
		}}
	if !files.Whole() {
		out.Further, out.More = "Further files, one customer call", s.moreFiles(files)
	}
	return out
}

// moreFiles reads on. The mark goes to the first file that was not there before.
func (s *Screen) moreFiles(files list.Pages[api.CustomerFile]) func(context.Context) func() ui.Choose {
	read := s.readFiles(files)
	return func(ctx context.Context) func() ui.Choose {
		now, err := read(ctx)
		return func() ui.Choose {
			out := s.chooseFile(now)
			if err != nil {
				out.Foot, out.At = notRead(err), len(out.Items)-1
			} else if len(now.All) > len(files.All) {
				first := string(now.All[len(files.All)].ID)
				out.At = slices.IndexFunc(out.Items, func(c ui.Choice) bool { return slices.Contains(c.Words, first) })
			}
			return out
		}
	}
}

// confirmAttach asks whether to attach a file; name is what it is called there, empty to
// leave that to the service.
func (s *Screen) confirmAttach(d content.Document, name string) ui.Action {
	id, facts := s.ID, s.target()
	if d.Name != "" {
		facts = append(d.Facts(), facts...)
	}
	if name != "" {
		facts = append(facts, widget.Pair{Label: "name there", Value: name, Long: true})
	}
	return ui.Asking("document.attach", s.object(cmp.Or(d.Name.Line(60), "document "+draw.ID(d.ID, 13))), ui.Confirm{ID: d.ID, Facts: facts,
		Yes: func(ui.Seen) tea.Cmd {
			return s.write("attaching "+d.Line(), wroteMsg{what: "Attaching", done: "Attached " + d.Line() + "."},
				func(ctx context.Context, c Client) (api.Operation, error) {
					return c.AttachDocument(ctx, id, d.ID, name)
				})
		}})
}

// toNew puts the cursor on a document that came by the write that began last.
func (s *Screen) toNew() {
	if s.before == nil {
		return
	}
	for _, d := range slices.Backward(s.Op.Documents) {
		if _, was := s.before.Document(string(d.GUID)); !was {
			s.Select(string(d.GUID))
			break
		}
	}
	s.before = nil
}
