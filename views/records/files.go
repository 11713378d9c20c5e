package records

import (
	"context"
	"encoding/json"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
	"opdeck/views/storedfile"
)

// KindFiles is the kind of this place; its ID is the customer's.
const KindFiles = "files"

// Files is the list of a customer's files; it implements ui.Screen.
type Files struct {
	*List[api.CustomerFile]
	env    *ui.Env
	caller endpoint.Caller
	save   storedfile.Save
	cuid   string

	owner func(ctx context.Context, cuid string) Owner
	owned Owner
}

// fileTerms is the filter language over files.
var fileTerms = filter.NewTable(append(filter.Catalogued(field.Files),
	filter.Field[api.CustomerFile]{Kind: filter.Free, Help: "contained in any of these fields", Example: `"free text"`,
		Strings: func(f api.CustomerFile) []string {
			return []string{string(f.Title()), string(f.Type), string(f.MIME), string(f.Info), string(f.ID)}
		}})...)

// Owner is what the index knows of a customer and their files.
type Owner struct {
	Name string            // safe text; empty: not known
	Uses map[string]string // file id: operation that has it as a document, as far as the index knows
}

// NewFiles returns the screen of a customer's files; start is its first filter. owner reads the index.
func NewFiles(env *ui.Env, caller endpoint.Caller, save storedfile.Save, owner func(context.Context, string) Owner,
	cuid, start string) *Files {
	s := &Files{env: env, caller: caller, save: save, cuid: cuid, owner: owner}
	s.List = newList(env, Spec[api.CustomerFile]{Kind: KindFiles, Of: cuid, Title: "Files",
		One: "file", Many: "files", Class: "customer",
		Catalogue: field.Files, Columns: []string{"name", "type", "size", "created", "lock", "state", "media", "id"},
		Language: fileTerms, Example: "passport type:PASSPORT created<30d",
		ID: func(f api.CustomerFile) string { return string(f.ID) }, CUID: func(api.CustomerFile) string { return cuid },
		Raw: func(f api.CustomerFile) json.RawMessage { return f.Raw },
		Read: func(ctx context.Context, at api.PageAt, _ string) (api.Page[api.CustomerFile], error) {
			return endpoint.Do(ctx, caller, endpoint.ListFiles, endpoint.FileQuery{CUID: cuid, Page: at.Page, Next: at.Next})
		},
		Card: func(o present.Options, f api.CustomerFile) []present.Section {
			return []present.Section{{Facts: present.File(o, cuid, f)}}
		},
		Own: s.ownKey, OwnKeys: s.ownKeys}, start)
	return s
}

// Title implements ui.Screen.
func (s *Files) Title() string { return list.TitleOf("Files", s.owned.Name, s.cuid) }

// Init implements ui.Screen: it also reads the customer's name and the uses of the files from the index.
func (s *Files) Init() tea.Cmd {
	read := func(ctx context.Context) (Owner, error) { return s.owner(ctx, s.cuid), nil }
	return tea.Batch(s.List.Init(), ui.Reading(s.env, nil, read, func(o Owner, _ time.Time, _ error) { s.owned = o }))
}

func (s *Files) ownKeys(onPage bool) []keymap.Key {
	k := s.env.Keys
	if onPage {
		return []keymap.Key{k.Documents.Save}
	}
	return []keymap.Key{k.List.Open, k.Documents.Save, k.Files.Delete}
}

func (s *Files) ownKey(msg keymap.Press, f api.CustomerFile) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	switch {
	case k.Documents.Save.Match(msg):
		return storedfile.AskSave(s.env, s.save, storedfile.FileOf(s.cuid, f)), nil, true
	case s.Page != nil:
	case k.List.Open.Match(msg):
		storedfile.Show(s.List.List, storedfile.FileOf(s.cuid, f), func() []widget.Pair { return s.card(f) })
		return nil, nil, true
	case k.Files.Delete.Match(msg):
		return s.askDelete(f), nil, true
	}
	return nil, nil, false
}

// card is all that is known of a file, its id first.
func (s *Files) card(f api.CustomerFile) []widget.Pair {
	return s.env.Pairs(present.File(s.env.Present(), s.cuid, f), nil)
}

// askDelete asks whether to delete a file; one that is locked is explained instead.
func (s *Files) askDelete(f api.CustomerFile) ui.Action {
	if busy, ok := list.OneThing(s.Doing); ok {
		return busy
	}
	id := string(f.ID)
	if f.Lock().Is() {
		return ui.Explain{Title: "Locked",
			Lines: []string{"This file is locked and cannot be deleted. Only the compliance team can unlock it. Send them the " +
				"ids below."},
			Facts: s.card(f), Copy: ui.Copy{Text: "file " + f.ID.Line(64) + ", customer " + s.cuid, What: "the ids"}}
	}
	name, r := storedfile.FileOf(s.cuid, f).Line(), api.DeleteFile{CUID: s.cuid, ID: id, Seen: &f,
		Force: f.Lock() == api.LockUnknown}
	whose, facts := "customer "+draw.ID(s.cuid, 20), s.card(f)[1:]
	if s.owned.Name != "" {
		whose = s.owned.Name
		facts = append(facts, widget.Pair{Label: "customer", Value: whose, Long: true})
	}
	risk := "opdeck does not know whether an operation uses this file. If one does, the service may refuse."
	if opid := s.owned.Uses[id]; opid != "" {
		risk = "It is attached to operation " + draw.ID(opid, 13) + ": the service may refuse."
		facts = append(facts, widget.Pair{Label: "attached to", Value: untrusted.Text(opid).Line(64), Tone: theme.Warn})
	}
	if r.Force {
		risk = "The service does not say whether this file is locked. If the compliance team has locked it, it must stay. " +
			risk
	}
	return ui.Asking(act.CustomerDeleteFile, act.Object{Item: name, ID: draw.ID(s.cuid, 20), Kind: "customer"},
		ui.Confirm{ID: id, Facts: facts, Ask: "Delete " + name + " of " + whose + " for good?", Risk: risk,
			Yes: func(ui.Seen) tea.Cmd { return s.remove(name, r) }})
}

// remove deletes the file and reads the files again.
func (s *Files) remove(name string, r api.DeleteFile) tea.Cmd {
	s.Doing = "deleting " + name
	caller, env := s.caller, s.env
	return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
		_, err := endpoint.Do(ctx, caller, endpoint.DeleteFile, r)
		done := env.Proven(r.CUID, "Deleted "+name+".")
		return func() (ui.Action, tea.Cmd) {
			s.Doing = ""
			return ui.Ended("Deleting", done, err), s.Reload()
		}, ui.EndedElsewhere("Not deleted", done, err)
	})
}
