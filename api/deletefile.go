package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// ActDeleteFile deletes a file from a customer's store for good.
const ActDeleteFile ActKind = "customer.delete-file"

var _ = declare(ActDeleteFile, rule{need: MayDocuments, number: "104", doing: "Deleting the file",
	look: lookForDeleted, shown: func(_ Probe, body fields, answer bool) bool { return answer && body.says("success", true) }})

// DeleteFile asks to delete a file of a customer.
type DeleteFile struct {
	CUID, ID string
	// Seen is the file as the person saw it when they decided; nil: whatever is there
	// now. One that changed since is a refusal.
	Seen   *CustomerFile
	Reason string
}

// DeleteFile deletes a file with its content
// (DELETE /v2/customer/{customerId}/file/{id}). It reads the customer's files first, so
// that it decides on what is there now: one customer call a page. Nothing brings the file
// back. What happens to an operation that holds it is the service's to say.
func (c *Client) DeleteFile(ctx context.Context, r DeleteFile) (Result, error) {
	const op = "delete file"
	if err := CheckID("customer id", r.CUID); err != nil {
		return Result{}, err
	}
	if err := CheckID("file id", r.ID); err != nil {
		return Result{}, err
	}
	var now []CustomerFile
	whole := false
	if !dry(ctx) {
		var err error
		if now, whole, _, err = c.filesOf(ctx, r.CUID, 1, func(f CustomerFile) bool { return strings.EqualFold(string(f.ID), r.ID) }); err != nil {
			return Result{}, err
		}
	}
	req := request{op: op, method: http.MethodDelete, parts: []string{"/v2/customer", ":" + r.CUID, "/file", ":" + r.ID}}
	act := newAct(ActDeleteFile, req, "customer", r.CUID, nil)
	act.Item, act.Reason = r.ID, r.Reason
	if len(now) > 0 {
		act.Name, act.Seen = now[0].Title().Line(80), HashHex(now[0].Raw)
	}
	act.Summary = strings.TrimSpace(fmt.Sprintf("Delete file %s of customer %s for good: %s", r.ID, r.CUID, act.Name))
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{CUID: r.CUID, GUID: r.ID},
		guard: func() error { return mayDelete(op, now, whole, r) }})
	return resultOf(a, err)
}

// mayDelete is the console's own guard. A file that was not found among those that could
// be read is left to the service.
func mayDelete(op string, now []CustomerFile, whole bool, r DeleteFile) error {
	switch {
	case len(now) == 0 && whole:
		return &Error{Op: op, Kind: Refused, Rule: RuleDocumentUnknown, Unsent: true,
			Public: "The customer's files were just read, and this file is not among them.", Remedy: Remedy{Kind: ReloadFiles}}
	case len(now) == 0:
		return nil
	}
	if locked, _ := now[0].Locked(); locked {
		return &Error{Op: op, Kind: Refused, Rule: RuleLocked, Unsent: true, Public: "The file is locked and cannot be deleted.", Remedy: Remedy{Kind: LiftLock}}
	}
	if r.Seen != nil && HashHex(r.Seen.Raw) != HashHex(now[0].Raw) {
		return &Error{Op: op, Kind: Refused, Rule: RuleChanged, Unsent: true, Public: "The file changed since it was shown.", Remedy: Remedy{Kind: LookAgain}}
	}
	return nil
}

// lookForDeleted reads the customer's files: the file is deleted when all of them were
// read, each with an id, and it is not among them.
func lookForDeleted(ctx context.Context, c *Client, p Probe) (Observation, error) {
	var s Observation
	odd := false
	found, whole, calls, err := c.filesOf(ctx, p.CUID, 1, func(f CustomerFile) bool {
		odd = odd || f.ID == ""
		return strings.EqualFold(string(f.ID), p.GUID)
	})
	s.calls = calls
	s.Shown = err == nil && whole && !odd && len(found) == 0
	return s, err
}

// maxFilePages bounds what a look through a customer's files costs.
const maxFilePages = 6

// filesOf reads a customer's files page by page, one customer call each, and lists those
// that keep lets through; with most of them it reads no further (0: it needs all). whole
// is false when there may be more files than were read.
func (c *Client) filesOf(ctx context.Context, cuid string, most int, keep func(CustomerFile) bool) (files []CustomerFile, whole bool, calls int, err error) {
	seen := map[string]bool{}
	for calls < maxFilePages {
		page, err := c.CustomerFiles(ctx, cuid, calls)
		if calls++; err != nil {
			return files, false, calls, err
		}
		fresh := false
		for _, f := range page.Items {
			if key := string(f.ID) + "\x00" + string(f.Raw); !seen[key] {
				fresh, seen[key] = true, true
				if keep(f) {
					files = append(files, f)
				}
			}
		}
		if most > 0 && len(files) >= most {
			return files, false, calls, nil
		}
		if whole = page.Whole(len(seen)); whole || !fresh {
			return files, whole, calls, nil
		}
	}
	return files, false, calls, nil
}
