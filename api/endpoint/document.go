package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"opdeck/api"
	"opdeck/api/jsontree"
	"opdeck/api/limit"
)

var documentCalls = []*Route{AttachDocument.Route, RemoveDocument.Route}

// RemoveDocument takes a document off an operation. It reads the operation first, so that
// it decides on what is there now: two billing calls. The operation comes back without
// the document; it comes back empty when the removal is proven and the operation cannot
// be shown.
var RemoveDocument = write(Route{Kind: api.ActRemoveDocument, Op: "remove document", Method: http.MethodDelete,
	Path:  operationPath + "/document/{guid}",
	Class: limit.Billing, Need: api.MayDocuments}, Write{Number: "101", Doing: "Removing",
	Opposite: api.ActAttachDocument},
	Proof{Shown: isLinked(false), Look: lookAtOperation(isLinked(false))}, writing[api.RemoveDocument, api.Operation]{
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
	p := plan{Object: "operation", ID: r.OPID, Item: r.GUID, Name: doc.FileName.Line(80), Reason: r.Reason,
		Seen:  api.SeenDigest(now, r.GUID),
		Probe: api.Probe{OPID: r.OPID, GUID: r.GUID}, Guard: func() error { return w.mayRemove(now, r) }}
	p.Summary = strings.TrimSpace(fmt.Sprintf("Remove document %s from operation %s: %s", r.GUID, r.OPID, p.Name))
	return p, nil
}

// mayRemove is the console's own guard (spec, Remove a document, rules 4 and 5).
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
	case doc.IsLock:
		return no(api.RuleLocked, api.LiftLock, "The document is locked and cannot be removed.")
	case r.Seen != nil && api.SeenDigest(*r.Seen, r.GUID) != api.SeenDigest(now, r.GUID):
		return no(api.RuleChanged, api.LookAgain, "The document or the operation's status changed since it was shown.")
	case w.Phase(now).Ended() && !r.Force:
		return no(api.RuleEndState, api.Force, fmt.Sprintf(
			"The operation is %s. Its documents can usually no longer be changed.", w.Phase(now).Word()))
	}
	return nil
}

// Attachment is an uploaded document that is linked to an operation.
type Attachment struct {
	OPID, GUID string
	Name       string // what it is called there; "" leaves it to the service
}

// AttachDocument links an uploaded document to an operation (one billing call).
var AttachDocument = write(Route{Kind: api.ActAttachDocument, Op: "attach document", Method: http.MethodPost,
	Path:  operationPath + "/document",
	Class: limit.Billing, Need: api.MayDocuments}, Write{Number: "102", Doing: "Attaching",
	Opposite: api.ActRemoveDocument},
	Proof{Shown: isLinked(true), Look: lookAtOperation(isLinked(true))}, writing[Attachment, api.Operation]{
		ids: func(a Attachment) []string { return one(a.OPID) },
		plan: func(_ context.Context, _ *Wire, a Attachment) (plan, error) {
			body := map[string]string{"documentId": a.GUID}
			if a.Name != "" {
				body["name"] = a.Name
			}
			return plan{Object: "operation", ID: a.OPID, Item: a.GUID, Name: safe(a.Name), Shows: body,
				Probe:   api.Probe{OPID: a.OPID, GUID: a.GUID},
				Summary: fmt.Sprintf("Attach document %s to operation %s", a.GUID, a.OPID)}, api.CheckID(params["guid"], a.GUID)
		},
		result: func(ctx context.Context, w *Wire, in Attachment, q api.Request, a api.Answer) (api.Operation, error) {
			return w.afterWrite(ctx, in.OPID, q, a)
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

// operationAnswer is the service's answer to a write on an operation. The record is null
// when it was done and cannot be shown.
func operationAnswer(op api.Operation) (json.RawMessage, error) {
	raw := op.Raw
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	return sentOr(nil, map[string]json.RawMessage{"item": raw})
}

// lookAtOperation reads the operation of a probe and shows it to the observers.
func lookAtOperation(shown api.Shown) func(context.Context, *Wire, api.Probe) (api.Observation, error) {
	look := lookAt(GetOperation.Route, "check operation", shown, func(p api.Probe) []string { return one(p.OPID) })
	return func(ctx context.Context, w *Wire, p api.Probe) (api.Observation, error) {
		s, err := look(ctx, w, p)
		if err == nil {
			_, _ = w.operation(ctx, api.Request{Op: "check operation"}, s.Answer)
		}
		return s, err
	}
}

// isLinked is the proof that the document is among those of the operation, or is not.
func isLinked(want bool) api.Shown {
	return func(p api.Probe, body api.Object, _ bool) bool {
		is, known := linked(p, body)
		return known && is == want
	}
}

// linked tells whether the body's operation holds the document. known is false when it is
// not that operation, or does not list its documents so that each can be recognised.
func linked(p api.Probe, body api.Object) (is, known bool) {
	v, _, _ := api.OperationRecord.Find(body.Value)
	op, docs := api.ObjectIn(v), v.Member("documents")
	if docs.Kind() != jsontree.Array || !strings.EqualFold(op.First("opid"), p.OPID) {
		return false, false
	}
	for _, d := range docs.Members() {
		guid := api.ObjectIn(d).First("guid")
		if guid == "" {
			return false, false
		}
		is = is || strings.EqualFold(guid, p.GUID)
	}
	return is, true
}

// afterWrite returns the operation that a write, or the read that proved it, answered
// with. Where the answer holds none that can be shown it is read once more; if that fails
// too, the operation is empty: the write was done all the same.
func (w *Wire) afterWrite(ctx context.Context, opid string, r api.Request, a api.Answer) (api.Operation, error) {
	if o, err := w.operation(ctx, r, a); err == nil {
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
	a, err := w.client.Read(ctx, r)
	if err != nil {
		return api.Operation{}, err
	}
	return w.operation(ctx, r, a)
}
