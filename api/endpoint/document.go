package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/jsontree"
	"opdeck/api/limit"
)

var documentCalls = []*Route{AttachDocument.Route, RemoveDocument.Route}

// RemoveDocument removes a document from an operation. It reads the operation first, to decide on its current state:
// two billing calls. It returns the operation without the document, or an empty one if the removal is proven but the
// operation is not in the answer.
var RemoveDocument = write(Route{Kind: api.ActRemoveDocument, Op: "remove document", Method: http.MethodDelete,
	Path:  operationPath + "/document/{guid}",
	Class: limit.Billing, Need: api.MayDocuments}, Write{Number: "101", Doing: "Removing",
	WriteRule: api.WriteRule{Opposite: api.ActAttachDocument, Past: "removed", Shows: unlisted, Shown: isUnlinked},
	Look:      lookAtOperation(unlisted, isUnlinked)},
	writing[api.RemoveDocument, api.Operation]{
		ids:  func(r api.RemoveDocument) []string { return []string{r.OPID, r.GUID} },
		plan: planRemoval,
		result: func(ctx context.Context, w *Wire, r api.RemoveDocument, q api.Request, a api.Answer) (api.Operation, error) {
			return w.afterWrite(ctx, r.OPID, q, a)
		},
		lend: func(ids []string, body Content) (api.RemoveDocument, error) {
			return api.RemoveDocument{OPID: ids[0], GUID: ids[1]}, body.nothing()
		},
		answer: operationAnswer,
	})

func planRemoval(ctx context.Context, w *Wire, r api.RemoveDocument) (plan, error) {
	var now api.Operation
	if !api.IsDryRun(ctx) {
		var err error
		if now, err = Do(ctx, w, GetOperation, r.OPID); err != nil {
			return plan{}, err
		}
	}
	doc, _ := now.Document(r.GUID)
	p := plan{Object: "operation", ID: r.OPID, Item: r.GUID, Name: doc.FileName.Line(80),
		Subject: api.SubjectOf(now, doc), Seen: api.SeenDigest(now, r.GUID),
		Probe: api.Probe{OPID: r.OPID, GUID: r.GUID}, Guard: func() error { return w.mayRemove(now, r) }}
	if r.Force && w.Phase(now).Ended() {
		p.Lifted = append(p.Lifted, api.RuleEndState)
	}
	if r.Force && doc.Lock == api.LockUnknown {
		p.Lifted = append(p.Lifted, api.RuleLockUnknown)
	}
	p.Summary = strings.TrimSpace(fmt.Sprintf("Remove document %s from operation %s: %s", r.GUID, r.OPID, p.Name))
	return p, nil
}

// mayRemove is opdeck's own guard (spec, Remove a document, rules 4 and 5).
func (w *Wire) mayRemove(now api.Operation, r api.RemoveDocument) error {
	no := func(rule api.Rule, do api.RemedyKind, public string) error {
		return &api.Error{Op: "remove document", Kind: api.Refused, Rule: rule, Unsent: true, Public: public,
			Remedy: api.Remedy{Kind: do}}
	}
	doc, ok := now.Document(r.GUID)
	switch {
	case !ok && (!now.DocumentsReported() || now.UnreadDocuments > 0):
		return no("", api.Reload, "The service's answer does not list all documents of the operation.")
	case !ok:
		return no(api.RuleNotAttached, api.Reload, "The document is not attached to the operation.")
	case doc.Lock.Is(), doc.Lock == api.LockUnknown && !r.Force:
		return api.LockGuard(doc.Lock, r.Force, "remove document", "document", "removed")
	case r.Seen != nil && api.SeenDigest(*r.Seen, r.GUID) != api.SeenDigest(now, r.GUID):
		return no(api.RuleChanged, api.LookAgain, "The document or the operation's status changed since it was shown.")
	case w.Phase(now).Ended() && !r.Force:
		return no(api.RuleEndState, api.Force,
			"The operation "+w.Phase(now).Has()+". Its documents can usually no longer be changed.")
	}
	return nil
}

// Attachment is a link from an operation to an uploaded document.
type Attachment struct {
	OPID, GUID string
	Name       string // its name there; "": the service chooses
}

// AttachDocument links an uploaded document to an operation. It reads the operation first, to distinguish the new
// element of its documents from the others: two billing calls. It returns the operation with the document; Attached
// is the id of the new link.
var AttachDocument = write(Route{Kind: api.ActAttachDocument, Op: "attach document", Method: http.MethodPost,
	Path:  operationPath + "/document",
	Class: limit.Billing, Need: api.MayDocuments}, Write{Number: "102", Doing: "Attaching",
	WriteRule: api.WriteRule{Opposite: api.ActRemoveDocument, Past: "attached", Shows: listed, Shown: isLinked,
		Found: linkID},
	Look: lookForLink},
	writing[Attachment, api.Operation]{
		ids:  func(a Attachment) []string { return one(a.OPID) },
		plan: planAttachment,
		result: func(ctx context.Context, w *Wire, in Attachment, q api.Request, a api.Answer) (api.Operation, error) {
			op, err := w.afterWrite(ctx, in.OPID, q, a)
			op.Attached = a.Made
			return op, err
		},
		lend: func(ids []string, body Content) (Attachment, error) {
			var in struct {
				DocumentID string `json:"documentId"`
				Name       string `json:"name"`
			}
			err := body.json(&in)
			return Attachment{OPID: ids[0], GUID: in.DocumentID, Name: in.Name}, err
		},
		answer: operationAnswer,
	})

func planAttachment(ctx context.Context, w *Wire, a Attachment) (plan, error) {
	if err := api.CheckID(params["guid"], a.GUID); err != nil {
		return plan{}, err
	}
	body := map[string]string{"documentId": a.GUID}
	if a.Name != "" {
		body["name"] = a.Name
	}
	p := plan{Object: "operation", ID: a.OPID, Item: a.GUID, Name: safe(a.Name), Shows: body,
		Probe:   api.Probe{OPID: a.OPID, GUID: a.GUID, FileName: a.Name},
		Summary: fmt.Sprintf("Attach document %s to operation %s", a.GUID, a.OPID)}
	if api.IsDryRun(ctx) {
		return p, nil
	}
	now, err := Do(ctx, w, GetOperation, a.OPID)
	if err != nil {
		return plan{}, err
	}
	p.Probe.CUID, p.Probe.Whole = string(now.Customer.CUID), now.DocumentsReported() && now.UnreadDocuments == 0
	for _, d := range now.Documents {
		p.Probe.Before = append(p.Probe.Before, string(d.GUID))
	}
	p.Subject = api.SubjectOf(now, api.Document{FileName: text(a.Name)})
	p.Guard = func() error {
		no := &api.Error{Op: "attach document", Kind: api.Refused, Unsent: true, Remedy: api.Remedy{Kind: api.Reload}}
		docs, _ := linksIn(p.Probe, api.ObjectOf(now.Raw))
		_, there := now.Document(a.GUID)
		switch {
		case there || slices.ContainsFunc(docs, func(d api.Object) bool { return names(d, a.GUID) }):
			no.Rule, no.Public = api.RuleAttached, "The document is already attached to the operation."
		case !p.Probe.Whole: // it may be attached
			no.Public = "The service's answer does not list all documents of the operation."
		default:
			return nil
		}
		return no
	}
	return p, nil
}

// operationAnswer is the service's answer to a write on an operation. The record is null if the write was done but
// the operation is not known.
func operationAnswer(op api.Operation) (json.RawMessage, error) {
	raw := op.Raw
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	return sentOr(nil, map[string]json.RawMessage{"item": raw})
}

// What an operation shows of a document.
const (
	operationRead = "the operation read"
	unlisted      = "no longer lists it"
	listed        = "lists it"
)

// lookAtOperation reads the operation of a probe and passes it to the observers.
func lookAtOperation(shows string, shown api.Shown) func(context.Context, *Wire, api.Probe) (api.Observation, error) {
	look := lookAt(GetOperation.Route, "check operation", operationRead, shows, shown, nil,
		func(p api.Probe) []string { return one(p.OPID) })
	return func(ctx context.Context, w *Wire, p api.Probe) (api.Observation, error) {
		s, err := look(ctx, w, p)
		if err == nil {
			_, _ = w.operation(ctx, api.Request{Op: "check operation"}, s.Answer, p.OPID)
		}
		return s, err
	}
}

// lookForLink reads the operation of a probe. A new element that does not name the document is the attached one if it
// has the same content, which costs two more customer calls.
func lookForLink(ctx context.Context, w *Wire, p api.Probe) (api.Observation, error) {
	s, err := lookAtOperation(listed, isLinked)(ctx, w, p)
	if err != nil {
		return s, err
	}
	body := api.ObjectOf(s.Answer.Body)
	s.Calls, s.File = 1, linkID(p, body, false)
	if s.Candidates = newLinks(p, body); s.Shown || len(s.Candidates) != 1 || api.CheckID("", p.CUID) != nil {
		return s, nil
	}
	var digests [2]string
	for i, id := range []string{p.GUID, s.Candidates[0]} {
		s.Calls++
		if digests[i], err = w.digestOf(ctx, p.CUID, id); err != nil {
			return s, nil // not distinguishable, which is no error of the look
		}
	}
	if s.Shown = digests[0] == digests[1]; s.Shown {
		s.File, s.Evidence.Shows = s.Candidates[0], "lists a new document with its content"
	}
	return s, nil
}

// linksIn returns the documents of the body's operation; false if it is another operation, or if not every document
// can be identified.
func linksIn(p api.Probe, body api.Object) (docs []api.Object, known bool) {
	v, _ := api.OperationRecord.Find(body.Value)
	op, list := api.ObjectIn(v), v.Member("documents")
	if list.Kind() != jsontree.Array || !strings.EqualFold(op.First("opid"), p.OPID) {
		return nil, false
	}
	for _, d := range list.Members() {
		if docs = append(docs, api.ObjectIn(d)); docs[len(docs)-1].First("guid") == "" {
			return nil, false
		}
	}
	return docs, true
}

func isUnlinked(p api.Probe, body api.Object, _ bool) bool {
	docs, known := linksIn(p, body)
	return known && !slices.ContainsFunc(docs, func(d api.Object) bool {
		return strings.EqualFold(d.First("guid"), p.GUID)
	})
}

func isLinked(p api.Probe, body api.Object, answer bool) bool { return linkID(p, body, answer) != "" }

// linkID is the id under which the body's operation lists the attached document, "" for none: the document's own id;
// that of a new element which names it; in the write's own answer, that of the only new element, unless it has
// another name than requested.
func linkID(p api.Probe, body api.Object, answer bool) string {
	docs, _ := linksIn(p, body)
	var named []string
	for _, d := range docs {
		id := d.First("guid")
		switch {
		case strings.EqualFold(id, p.GUID):
			return id
		case isNew(p, id) && names(d, p.GUID):
			named = append(named, id)
		}
	}
	fresh := newLinks(p, body)
	switch {
	case len(named) == 1:
		return named[0]
	case !answer || len(named) > 0 || len(fresh) != 1:
		return ""
	}
	for _, d := range docs {
		if called := d.First("fileName", "name"); d.First("guid") == fresh[0] && p.FileName != "" && called != "" &&
			called != p.FileName {
			return ""
		}
	}
	return fresh[0]
}

// newLinks returns the ids of the documents that are new since the attachment was sent; none if the earlier ones are
// not known.
func newLinks(p api.Probe, body api.Object) (out []string) {
	docs, _ := linksIn(p, body)
	for _, d := range docs {
		if id := d.First("guid"); isNew(p, id) {
			out = append(out, id)
		}
	}
	return out
}

func isNew(p api.Probe, id string) bool {
	return p.Whole && !slices.ContainsFunc(p.Before, func(was string) bool { return strings.EqualFold(was, id) })
}

// names reports whether a member of d equals the id.
func names(d api.Object, id string) bool {
	for _, m := range d.Members() {
		if s, ok := m.Scalar(); ok && strings.EqualFold(s, id) {
			return true
		}
	}
	return false
}

// afterWrite returns the operation in the answer to a write, or to the read that proved it. If the answer has none,
// it is read once more; if that fails too, the operation is empty, and the write still counts as done.
func (w *Wire) afterWrite(ctx context.Context, opid string, r api.Request, a api.Answer) (api.Operation, error) {
	if o, err := w.operation(ctx, r, a, opid); err == nil {
		return o, nil
	}
	o, err := w.readAgain(context.WithoutCancel(ctx), r.Op, opid)
	if err != nil {
		w.client.Log().Warn("done, but the operation cannot be shown", "op", r.Op, "err", err)
		return api.Operation{}, nil
	}
	return o, nil
}

func (w *Wire) readAgain(ctx context.Context, op, opid string) (api.Operation, error) {
	r, err := GetOperation.request(opid)
	if err != nil {
		return api.Operation{}, err
	}
	r.Op = op
	var o api.Operation
	_, err = w.client.Read(ctx, r, func(a api.Answer) (err error) {
		o, err = w.operation(ctx, r, a, opid)
		return err
	})
	return o, err
}
