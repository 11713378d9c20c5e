package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// RemoveDocument asks to take a document off an operation. Only the link goes;
// the document stays and can be put back (spec, Remove a document, rule 1).
type RemoveDocument struct {
	OPID, GUID string
	// Seen is the operation as the person saw it when they decided. nil: whatever
	// is there now. A document or status that changed since is a refusal.
	Seen *Operation
	// Force lifts the console's own guard for end states, never a lock.
	Force  bool
	Reason string
}

// SeenDigest is what a question about a document binds to: the document and the
// operation's status.
func SeenDigest(o Operation, guid string) string {
	d, _ := o.Document(guid)
	return HashHex(jsonBody(struct {
		OPID, Status untrusted.Text
		Document     Document
	}{o.OPID, o.Status, d}))
}

// The writes of this file.
const (
	ActRemoveDocument ActKind = "document.remove"
	ActAttachDocument ActKind = "document.attach"
)

var (
	_ = declare(ActRemoveDocument, rule{need: MayDocuments, number: "101", doing: "Removing",
		look: lookAtOperation, shown: func(p Probe, body fields, _ bool) bool {
			is, told := p.linked(body)
			return told && !is
		}})
	_ = declare(ActAttachDocument, rule{need: MayDocuments, number: "102", doing: "Attaching",
		look: lookAtOperation, shown: func(p Probe, body fields, _ bool) bool {
			is, told := p.linked(body)
			return told && is
		}})
)

// lookAtOperation reads the operation of p and shows it to the index.
func lookAtOperation(ctx context.Context, c *Client, p Probe) (Observation, error) {
	const op = "check operation"
	s, err := lookAt(op, func(p Probe) []string { return operationPath(p.OPID) })(ctx, c, p)
	if err == nil {
		_, _ = c.operationOf(ctx, op, s.answer)
	}
	return s, err
}

// linked tells whether the body's operation holds the document. told is false
// when it is not that operation, or does not list its documents so that each can
// be recognised.
func (p Probe) linked(body fields) (is, told bool) {
	v, _, _ := operationThing.find(body.Value)
	op, docs := objectIn(v), v.Member("documents")
	if docs.Kind() != jsontree.Array || !strings.EqualFold(op.text("opid"), p.OPID) {
		return false, false
	}
	for _, d := range docs.Members() {
		guid := objectIn(d).text("guid")
		if guid == "" {
			return false, false
		}
		is = is || strings.EqualFold(guid, p.GUID)
	}
	return is, true
}

// RemoveDocument takes a document off an operation
// (DELETE /v2/billing/operation/{id}/document/{documentId}). It reads the
// operation first, so that it decides on what is there now: two billing calls.
// The operation comes back without the document; it comes back empty when the
// removal is proven and the operation cannot be shown.
func (c *Client) RemoveDocument(ctx context.Context, r RemoveDocument) (Operation, error) {
	const op = "remove document"
	if err := checkPair(r.OPID, r.GUID); err != nil {
		return Operation{}, err
	}
	var now Operation
	if !dry(ctx) {
		var err error
		if now, err = c.readOperation(ctx, "read operation", r.OPID); err != nil {
			return Operation{}, err
		}
	}
	doc, _ := now.Document(r.GUID)
	req := request{op: op, method: http.MethodDelete, parts: append(operationPath(r.OPID), "/document", ":"+r.GUID)}
	act := newAct(ActRemoveDocument, req, "operation", r.OPID, nil)
	act.Item, act.Name, act.Reason = r.GUID, doc.FileName.Line(80), r.Reason
	act.Seen = SeenDigest(now, r.GUID)
	act.Summary = strings.TrimSpace(fmt.Sprintf("Remove document %s from operation %s: %s", r.GUID, r.OPID, act.Name))
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{OPID: r.OPID, GUID: r.GUID},
		guard: func() error { return c.mayRemove(op, now, r) }})
	return c.afterWrite(ctx, op, r.OPID, a, err)
}

// mayRemove is the console's own guard (spec, Remove a document, rules 4 and 5).
func (c *Client) mayRemove(op string, now Operation, r RemoveDocument) error {
	doc, ok := now.Document(r.GUID)
	switch {
	case !ok && (!now.DocumentsTold() || now.UnreadDocuments > 0):
		return &Error{Op: op, Kind: Refused, Unsent: true, Remedy: Remedy{Kind: Reload},
			Public: "The operation was just read, and the answer does not list all of its documents."}
	case !ok:
		return &Error{Op: op, Kind: Refused, Rule: RuleNotAttached, Unsent: true,
			Public: "The operation was just read, and the document is not attached to it.", Remedy: Remedy{Kind: Reload}}
	case doc.IsLock:
		return &Error{Op: op, Kind: Refused, Rule: RuleLocked, Unsent: true,
			Public: "The document is locked and cannot be removed.", Remedy: Remedy{Kind: LiftLock}}
	case r.Seen != nil && SeenDigest(*r.Seen, r.GUID) != SeenDigest(now, r.GUID):
		return &Error{Op: op, Kind: Refused, Rule: RuleChanged, Unsent: true,
			Public: "The document or the operation's status changed since it was shown.", Remedy: Remedy{Kind: LookAgain}}
	case c.Phase(now).Ended() && !r.Force:
		return &Error{Op: op, Kind: Refused, Rule: RuleEndState, Unsent: true, Remedy: Remedy{Kind: Force},
			Public: fmt.Sprintf("The operation is %s; its documents are normally not changed any more.", c.Phase(now).Word())}
	}
	return nil
}

// AttachDocument links an uploaded document to an operation
// (POST /v2/billing/operation/{id}/document; one billing call). name is what it
// is called there; "" leaves it to the service.
func (c *Client) AttachDocument(ctx context.Context, opid, guid, name string) (Operation, error) {
	const op = "attach document"
	if err := checkPair(opid, guid); err != nil {
		return Operation{}, err
	}
	body := map[string]string{"documentId": guid}
	if name != "" {
		body["name"] = name
	}
	req := request{op: op, method: http.MethodPost, parts: append(operationPath(opid), "/document"),
		body: jsonBody(body), content: "application/json"}
	act := newAct(ActAttachDocument, req, "operation", opid, body)
	act.Item, act.Name = guid, safeLine(name, 80)
	act.Summary = fmt.Sprintf("Attach document %s to operation %s", guid, opid)
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{OPID: opid, GUID: guid}})
	return c.afterWrite(ctx, op, opid, a, err)
}

// afterWrite returns the operation that a write, or the read that proved it,
// answered with. Where the answer holds none that can be shown it is read once
// more; if that fails too, the operation is empty: the write was done all the
// same.
func (c *Client) afterWrite(ctx context.Context, op, opid string, a answer, err error) (Operation, error) {
	if err != nil {
		return Operation{}, err
	}
	if o, err := c.operationOf(ctx, op, a); err == nil {
		return o, nil
	}
	o, err := c.readOperation(context.WithoutCancel(ctx), op, opid)
	if err != nil {
		c.opt.Log.Warn("done, but the operation cannot be shown", "op", op, "err", err)
		return Operation{}, nil
	}
	return o, nil
}

func checkPair(opid, guid string) error {
	if err := CheckID("operation id", opid); err != nil {
		return err
	}
	return CheckID("document id", guid)
}
