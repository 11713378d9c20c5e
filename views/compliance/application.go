package compliance

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/mask"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
	"opdeck/views/storedfile"
)

// Bounds of the form.
const (
	maxTexts = 12  // texts of the application that can be changed
	maxText  = 500 // characters of one
)

// draft is an application as it was read, taken apart as far as the form changes it.
// Everything else stays as the service sent it.
type draft struct {
	kind    string // "individual" or "corporate": the member of the request
	read    json.RawMessage
	body    map[string]json.RawMessage // of read
	app     map[string]json.RawMessage // of body's "application"; nil: there is none
	names   []string                   // texts of app, as the fields show them
	hidden  int                        // texts that are left out because they are masked
	docs    []json.RawMessage          // of body's "documents"
	lists   bool                       // body has a list of documents
	files   storedfile.FileList        // as far as it was read
	docType string                     // the member of a document that holds its type
	file    string                     // and its file; empty: none was seen in an answer
	seen    []untrusted.Text           // types of documents in answers
}

// newDraft takes an application apart; masked leaves out the texts that are not shown.
func newDraft(app api.Application, masked bool) draft {
	d := draft{kind: strings.ToLower(app.Kind()), read: app.Individual, docType: "type"}
	if app.Kind() == api.Corporate {
		d.read = app.Corporate
	}
	_ = json.Unmarshal(d.read, &d.body) // what is not an object has no texts
	_ = json.Unmarshal(d.body["application"], &d.app)
	for _, n := range slices.Sorted(maps.Keys(d.app)) {
		s, ok := text(d.app[n])
		switch {
		case !ok || len(d.names) == maxTexts || !typed(s) || !typed(n):
		case masked && mask.Detail(api.Detail{Path: n, Value: untrusted.Text(s)}, true) != untrusted.Text(s):
			d.hidden++
		default:
			d.names = append(d.names, n)
		}
	}
	if docs := d.body["documents"]; bytes.HasPrefix(bytes.TrimSpace(docs), []byte("[")) {
		d.lists = json.Unmarshal(docs, &d.docs) == nil
	}
	return d
}

// with is the draft when that much of the customer's files was read.
func (d draft) with(files storedfile.FileList) draft {
	d.files = files
	for _, doc := range d.docs {
		d.learn(doc)
	}
	return d
}

// namesFiles reports whether a document's file can be sent, or might be once more of the
// customer's files are read.
func (d draft) namesFiles() bool { return d.file != "" || len(d.docs) > 0 && !d.files.Ended() }

// learn sees in a document of the answer which of its members hold type and file.
func (d *draft) learn(doc json.RawMessage) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(doc, &members)
	for name, raw := range members {
		value, _ := text(raw)
		switch {
		case slices.Contains(api.ApplicationDocumentTypes(), value):
			d.docType = name
		case slices.ContainsFunc(d.files.All, func(f api.CustomerFile) bool { return value != "" && string(f.ID) == value }):
			d.file = name
		}
	}
}

// text is a JSON string; ok is false for anything else.
func text(raw json.RawMessage) (s string, ok bool) {
	return s, len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}

// typed reports whether a text stays to the letter in a field.
func typed(s string) bool { return untrusted.Text(s).Line(maxText) == s }

// change is what the form says.
type change struct {
	texts []string   // of draft.names
	docs  []document // further ones
}

// document is a further document of an application.
type document struct{ kind, file string } // file is an id; empty: none

func (d document) line() string {
	if d.file == "" {
		return d.kind
	}
	return d.kind + ", file " + d.file
}

// apply is the body to be sent, and what differs from what was read. Members that the
// form does not know stay as they came.
func (d draft) apply(c change) (body json.RawMessage, differs []widget.Pair, err error) {
	all, app := maps.Clone(d.body), maps.Clone(d.app)
	for i, n := range d.names {
		was, _ := text(d.app[n])
		if c.texts[i] == was {
			continue
		}
		raw, err := json.Marshal(c.texts[i])
		if err != nil {
			return nil, nil, err
		}
		app[n] = raw
		differs = append(differs, widget.Pair{Label: n, Value: quoted(was) + " → " + quoted(c.texts[i]), Long: true,
			Tone: theme.Warn})
	}
	if len(differs) > 0 {
		if all["application"], err = json.Marshal(app); err != nil {
			return nil, nil, err
		}
	}
	if len(c.docs) > 0 {
		docs := slices.Clone(d.docs)
		differs = append(differs, widget.Pair{Label: "documents", Value: format.Count(len(d.docs)) + " → " +
			format.Count(len(d.docs)+len(c.docs)), Tone: theme.Warn})
		for _, further := range c.docs {
			doc := map[string]string{d.docType: further.kind}
			if further.file != "" {
				doc[d.file] = further.file
			}
			raw, err := json.Marshal(doc)
			if err != nil {
				return nil, nil, err
			}
			docs = append(docs, raw)
			differs = append(differs, widget.Pair{Label: "added", Value: further.line(), Long: true, Tone: theme.Warn})
		}
		if all["documents"], err = json.Marshal(docs); err != nil {
			return nil, nil, err
		}
	}
	body, err = json.Marshal(map[string]any{d.kind: all})
	return body, differs, err
}

func quoted(s string) string {
	if s == "" {
		return "empty"
	}
	return untrusted.Text(s).Line(200)
}

// readDraft reads the application and the first page of the customer's files, then opens
// the form: two customer calls.
func (s *Screen) readDraft() tea.Cmd {
	s.start("reading the application")
	caller, types, id := s.caller, s.parts.Types, s.id
	return s.env.Read(nil, func(ctx context.Context) ui.Then {
		app, err := endpoint.Do(ctx, caller, endpoint.GetApplication, id)
		files := storedfile.NewFileList(caller, id)
		if err == nil {
			files = files.ReadOn(ctx)
		}
		seen, _ := types.DocumentTypes(ctx) // without the index the known ones are offered
		return func() (ui.Action, tea.Cmd) {
			s.Doing = ""
			s.Layout()
			switch {
			case err != nil:
				return ui.Failure("Reading the application", err), nil
			case app.Kind() == "":
				return ui.Notify{Level: ui.Denied, Text: "The service returned no application that can be changed."}, nil
			}
			s.files = files
			d := newDraft(app, s.env.Masked()).with(files)
			d.seen = seen
			return s.askApplication(d), nil
		}
	})
}

// askApplication is the form over an application.
func (s *Screen) askApplication(d draft) ui.Action {
	fields := make([]widget.Field, 0, len(d.names)+2)
	for _, n := range d.names {
		was, _ := text(d.app[n])
		fields = append(fields, widget.Field{Label: n, Value: was, Max: maxText, Paste: widget.PasteKeep})
	}
	intro := []string{"Fields that are not shown here stay unchanged. Nothing is sent until you confirm.",
		"The service has announced that this call will be deprecated. A verification link does the same: close this form, " +
			"then " + s.env.Way(s.keys.Link) + "."}
	if d.hidden > 0 {
		intro = append(intro, "Masked values are left out; they stay unchanged. To change them, close this form, reveal "+
			"them with "+s.env.Way(s.env.Keys.Global.Reveal)+", then open it again.")
	}
	fields = append(fields, d.documentFields("Type of another document", nil)...)
	switch {
	case !d.lists:
		intro = append(intro, "The application has no readable list of documents, so none can be added here.")
	case d.files.Err != nil:
		intro = append(intro, d.files.NotRead())
	case !d.namesFiles():
		intro = append(intro, "The file itself cannot be chosen here: only its type is sent.")
	}
	if len(fields) == 0 {
		return ui.Notify{Level: ui.Denied, Text: "The application has no text that can be changed here. To send a whole " +
			"file: opdeck customer set-application"}
	}
	return ui.Ask{Title: "Application, " + d.kind, Verb: "Continue", Intro: intro, Fields: fields,
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			var c change
			for i := range d.names {
				c.texts = append(c.texts, v.Text(i))
			}
			if kind := kindOf(v, len(d.names), len(fields)); kind != "" {
				return s.chooseFile(d, c, kind), nil
			}
			return s.confirmApplication(d, c)
		}}
}

// maxDocuments are added by one request.
const maxDocuments = 20

// documentFields ask for the type of a further document; without a check it may stay empty.
func (d draft) documentFields(label string, check func(string) error) []widget.Field {
	if !d.lists {
		return nil
	}
	return []widget.Field{{Name: api.FieldType, Label: label, Optional: check == nil, Hint: "PROOF_OF_RESIDENCE …",
		Max: 64, Options: storedfile.TypeOptions(nil, api.ApplicationDocumentTypes(), d.seen), Capitals: true, Check: check}}
}

// kindOf reads that field, which is field i of n.
func kindOf(v ui.Values, i, n int) string {
	if i >= n {
		return ""
	}
	return strings.ToUpper(strings.TrimSpace(v.Text(i)))
}

// chooseFile asks for the file of a further document, where it is known how a document
// names one.
func (s *Screen) chooseFile(d draft, c change, kind string) ui.Action {
	if !d.namesFiles() {
		return s.add(d, c, document{kind: kind})
	}
	return s.files.Choose(func(files storedfile.FileList) ui.Choose {
		s.files = files // what was read is not asked for again
		d := d.with(files)
		items, ids := []ui.Choice{{Text: "No file", About: "the document is added with its type only"}}, []string{""}
		for _, f := range files.Newest() {
			if api.CheckID("file id", f.ID) != nil {
				continue
			}
			item := f.Choice(s.env, "")
			if d.file == "" {
				item.Why = "No document of this application names a file that was read. Read more of the list first."
			}
			items, ids = append(items, item), append(ids, f.ID)
		}
		return ui.Choose{Title: "File of " + untrusted.Text(kind).Line(60), Items: items,
			Typed: func(id string) (ui.Action, bool) {
				return s.add(d, c, document{kind, id}), d.file != "" && api.CheckID("file id", id) == nil
			},
			Pick: func(i int) (ui.Action, tea.Cmd) { return s.add(d, c, document{kind, ids[i]}), nil }}
	})
}

// add puts a document into the list of those that are to be added.
func (s *Screen) add(d draft, c change, doc document) ui.Action {
	if slices.Contains(c.docs, doc) {
		return ui.Many{ui.Notify{Level: ui.Denied, Text: "Already in the list: " +
			untrusted.Text(doc.line()).Line(140) + "."}, s.chooseDocuments(d, c)}
	}
	c.docs = append(slices.Clone(c.docs), doc)
	return s.chooseDocuments(d, c)
}

// chooseDocuments lists the documents that are to be added: another one, one less, or the
// question about all of them.
func (s *Screen) chooseDocuments(d draft, c change) ui.Action {
	items := []ui.Choice{{Text: "Continue", About: "asks you to confirm, then sends one request with " +
		format.Plural(len(c.docs), "document",
			"documents")}, {Text: "Add another"}}
	if len(c.docs) >= maxDocuments {
		items[1].Why = "One request adds at most " + format.Count(maxDocuments) + " documents here."
	}
	for _, doc := range c.docs {
		items = append(items, ui.Choice{Text: "Remove " + untrusted.Text(doc.line()).Line(140), About: "from the list"})
	}
	return ui.Choose{Title: "Documents to add", Items: items, Pick: func(i int) (ui.Action, tea.Cmd) {
		switch i {
		case 0:
			return s.confirmApplication(d, c)
		case 1:
			return s.askDocument(d, c), nil
		}
		c.docs = slices.Delete(slices.Clone(c.docs), i-2, i-1)
		return s.chooseDocuments(d, c), nil
	}}
}

// askDocument asks for one more document.
func (s *Screen) askDocument(d draft, c change) ui.Action {
	fields := d.documentFields("Type", func(v string) error {
		if strings.TrimSpace(v) == "" {
			return &api.Error{Kind: api.Usage, Public: "Enter a type; esc goes back."}
		}
		return nil
	})
	var intro []string
	for _, doc := range c.docs {
		intro = append(intro, "To be added: "+untrusted.Text(doc.line()).Line(140))
	}
	return ui.Ask{Title: "Another document", Verb: "Add", Intro: intro, Fields: fields,
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			return s.chooseFile(d, c, kindOf(v, 0, len(fields))), nil
		}}
}

// confirmApplication asks with what was and what will be. What is sent is refused when
// the application is another one by then.
func (s *Screen) confirmApplication(d draft, c change) (ui.Action, tea.Cmd) {
	body, differs, err := d.apply(c)
	switch {
	case err != nil:
		return ui.Failure("Application", err), nil
	case len(differs) == 0:
		return ui.Notify{Level: ui.Info, Text: "Nothing was changed, so nothing is sent."}, nil
	}
	risk := "The whole application is sent: what you did not change, as it was read."
	if s.j != nil && slices.ContainsFunc(s.j.Steps, func(st journey.Step) bool {
		return st.Key == "finalize" &&
			st.State == journey.Done
	}) {
		risk = "The application has been submitted: the service may refuse this. " + risk
	}
	of := subject(s.id, s.j.Customer)
	return ui.Asking(act.CustomerSetApplication, of, ui.Confirm{ID: s.id, Risk: risk, Ask: changes(d, c) + " of " +
		"the application of " + of.Item + "?",
		Facts: append(append(differs, widget.Pair{}), asked(s.env, s.id, s.j.Customer)...),
		Yes: func(ui.Seen) tea.Cmd {
			s.start("setting the application")
			caller, id, read := s.caller, s.id, bytes.Clone(d.read)
			return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				res, err := setApplication(ctx, caller, id, read, body)
				done := strings.TrimSpace("Set. " + res.Message.Line(200))
				return func() (ui.Action, tea.Cmd) { return ui.Ended("Application", done, err), s.reloadAfterWrite() },
					ui.EndedElsewhere("The application was not set", done, err)
			})
		}}), nil
}

// changes says how much of an application a change is about: "Change 2 fields and add 1 document".
func changes(d draft, c change) string {
	n := 0
	for i, name := range d.names {
		if was, _ := text(d.app[name]); c.texts[i] != was {
			n++
		}
	}
	fields, docs := "Change "+format.Plural(n, "field", "fields"), format.Plural(len(c.docs), "document", "documents")
	switch {
	case len(c.docs) == 0:
		return fields
	case n == 0:
		return "Add " + docs + " to the list"
	}
	return fields + " and add " + docs + " to the list"
}

// setApplication sends body if the application is still the one that was read.
func setApplication(ctx context.Context, caller endpoint.Caller, id string, read, body json.RawMessage) (api.Result,
	error) {
	now, err := endpoint.Do(ctx, caller, endpoint.GetApplication, id)
	if err != nil {
		return api.Result{}, err
	}
	if !bytes.Equal(newDraft(now, false).read, read) {
		return api.Result{}, api.Refusal("set application", api.RuleChanged,
			"The application was changed by another client in the meantime. Nothing was sent; close the form and open it "+
				"again to read it.")
	}
	return endpoint.Do(ctx, caller, endpoint.SetApplication, endpoint.NewApplication{CUID: id, Body: body})
}
