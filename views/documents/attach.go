package documents

import (
	"cmp"
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
	"opdeck/views/storedfile"
)

// pickFile reads the first of the customer's files, one customer call, and offers them for
// attaching. An id can be typed or pasted instead.
func (s *changes) pickFile() tea.Cmd {
	s.list.Doing = "reading the customer's files"
	files := storedfile.NewFileList(s.caller, string(s.latest.Op.Customer.CUID))
	return s.env.Read(nil, func(ctx context.Context) ui.Then {
		files := files.ReadOn(ctx)
		return func() (ui.Action, tea.Cmd) {
			s.list.Doing = ""
			if no := files.NotRead(); no != "" {
				return ui.Many{ui.Notify{Level: ui.Warning, Text: no}, s.askAttach()}, nil
			}
			return files.Choose(s.chooseFile), nil
		}
	})
}

// choosable are the files in the order in which they are offered: those removed here, the
// last one first, then the newest, and last those that are attached already.
func (s *changes) choosable(files storedfile.FileList) []storedfile.Document {
	newest := files.Newest()
	var out []storedfile.Document
	for _, r := range slices.Backward(s.undone) {
		d := storedfile.Document{CUID: string(s.latest.Op.Customer.CUID), ID: r.guid, Size: -1}
		if i := slices.IndexFunc(newest, func(f storedfile.Document) bool { return f.ID == r.guid }); i >= 0 {
			d = newest[i]
		}
		d.Name = untrusted.Text(r.name)
		out = append(out, d)
	}
	for _, f := range newest {
		if !slices.ContainsFunc(out, func(d storedfile.Document) bool { return d.ID == f.ID }) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b storedfile.Document) int { return cmp.Compare(s.attached(a), s.attached(b)) })
	return out
}

// attached is 1 for a document of this operation, else 0.
func (s *changes) attached(d storedfile.Document) int {
	if _, there := s.latest.Op.Document(d.ID); there {
		return 1
	}
	return 0
}

// chooseFile offers the files that were read.
func (s *changes) chooseFile(files storedfile.FileList) ui.Choose {
	offered := s.choosable(files)
	items := []ui.Choice{{Text: "Another file", Note: "by its id", Words: []string{"id", "name"}}}
	for i, d := range offered {
		state := ""
		if i < len(s.undone) {
			state = "removed here"
		}
		c := d.Choice(s.env, state)
		if s.attached(d) > 0 {
			c.Why = "already attached"
		}
		items = append(items, c)
	}
	return ui.Choose{Title: "Attach a file of " + cmp.Or(s.latest.Op.Customer.Name.Line(40), "the customer"), Items: items,
		At: 1, // the first file
		Typed: func(id string) (ui.Action, bool) {
			return s.confirmAttach(storedfile.Document{ID: id, Size: -1}, ""), api.CheckID("file id", id) == nil
		},
		Pick: func(i int) (ui.Action, tea.Cmd) {
			if i == 0 {
				return s.askAttach(), nil
			}
			return s.confirmAttach(offered[i-1], ""), nil
		}}
}

// confirmAttach asks whether to attach a file; name is what it is called there, empty to
// leave that to the service.
func (s *changes) confirmAttach(d storedfile.Document, name string) ui.Action {
	id, facts := s.latest.ID, s.target()
	if d.Name != "" {
		facts = s.grouped(d.Facts(s.env))
	}
	if name != "" {
		facts = append(facts, widget.Pair{Label: "name in the operation", Value: name, Long: true})
	}
	return ui.Asking(act.DocumentAttach, s.object(cmp.Or(d.Name.Line(60), "file "+draw.ID(d.ID, 13))),
		ui.Confirm{ID: d.ID, Facts: facts,
			Yes: func(ui.Seen) tea.Cmd {
				return s.write("attaching "+d.Line(), writeDoneMsg{what: "Attaching", done: "Attached " + d.Line() + "."},
					func(ctx context.Context, c endpoint.Caller) (api.Operation, error) {
						return endpoint.Do(ctx, c, endpoint.AttachDocument, endpoint.Attachment{OPID: id, GUID: d.ID, Name: name})
					})
			}})
}

// toNew puts the cursor on a document that came by the write that began last.
func (s *changes) toNew() {
	if s.before == nil {
		return
	}
	for _, d := range slices.Backward(s.latest.Op.Documents) {
		if _, was := s.before.Document(string(d.GUID)); !was {
			s.list.Select(string(d.GUID))
			break
		}
	}
	s.before = nil
}
