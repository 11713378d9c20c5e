package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/note"
	"opdeck/internal/domain/notify"
	"opdeck/internal/present"
)

var approvalStates = []approval.State{approval.Open, approval.Approved, approval.Denied, approval.Lapsed,
	approval.Spent, approval.Void}

// requestJSON is a request with what a second person decides by beside it.
type requestJSON struct {
	approval.Request
	Customer    string     `json:"customer"`
	Amount      *api.Sum   `json:"amount"` // null: there is none, or it is not a number
	Status      string     `json:"status"`
	Document    string     `json:"document"`
	Lifted      []api.Rule `json:"lifted"` // guards that --force lifts
	Reason      string     `json:"reason"`
	RequestedBy string     `json:"requested_by"`
	Until       time.Time  `json:"until"`
}

func requestOf(q approval.Request) requestJSON {
	s := q.Act.Subject
	return requestJSON{Request: q, Customer: s.Customer, Amount: s.Amount, Status: s.Status,
		Document: cmp.Or(s.Document, q.Act.Name), Lifted: append([]api.Rule{}, q.Act.Lifted...), Reason: q.Act.Reason,
		RequestedBy: q.Requester.Name, Until: q.Expires}
}

func approvalListCommand(r *root) *cobra.Command {
	var status []string
	cmd := prints(r, lists(&cobra.Command{}), func(ctx context.Context, a *app.App, _ []string) (listOf[requestJSON],
		error) {
		for _, s := range status {
			if !slices.Contains(approvalStates, approval.State(s)) {
				return listOf[requestJSON]{}, usage("--status must be open, approved, denied, lapsed, spent or void, not %q", s)
			}
		}
		found, err := a.Approvals.List(ctx, mapped(status, func(s string) approval.State { return approval.State(s) })...)
		return items(mapped(found, requestOf), listed(r.options(ctx, a), present.RequestListed, found).
			none("No requests. A write creates one where the context has approval = \"second_person\".")), err
	})
	cmd.Flags().StringSliceVar(&status, "status", nil, "only these: open, approved, denied, lapsed, spent, void")
	return cmd
}

func approvalShowCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string) (record[requestJSON], error) {
		q, err := a.Approvals.Show(ctx, args[0])
		if err != nil {
			return record[requestJSON]{}, err
		}
		out := card(requestOf(q), present.Request(r.options(ctx, a), q)...)
		if q.State == approval.Open && q.Digest != "" { // a role that sees no digests decides nothing
			out = out.says("To decide: opdeck approval approve %s or deny %s, with --digest %s to name exactly this request.",
				q.ID, q.ID, q.Digest)
		}
		return out, nil
	})
}

func approvalApproveCommand(r *root) *cobra.Command {
	return approvalDecideCommand(r, func(q approval.Request) string {
		return "Approved. " + oneLine(q.Requester.Name) + " can send it once, until " + q.Expires.UTC().Format("15:04 UTC") +
			"."
	}, false, (*approval.Service).Approve)
}

func approvalDenyCommand(r *root) *cobra.Command {
	return approvalDecideCommand(r, func(approval.Request) string { return "Denied." }, true, (*approval.Service).Deny)
}

// approvalDecideCommand is approve or deny.
func approvalDecideCommand(r *root, sentence func(approval.Request) string, needsReason bool,
	decide func(*approval.Service, context.Context, string, string, string) (approval.Request, error)) *cobra.Command {
	var reason, digest string
	cmd := &cobra.Command{
		Long: "You cannot decide your own request. Over SSH a person is a key, a login name and a certificate id; " +
			"locally, the user id on this host. You must share none of these with the requester, and both of you must use " +
			"SSH, or both the same host. This does not stop root or people who know the password of the account or of the " +
			"store. Use --digest (from approval show) to name exactly the request that you read."}
	writes(r, cmd, func(ctx context.Context, a *app.App, args []string) (w asked, _ sending[requestJSON], err error) {
		if needsReason && strings.TrimSpace(reason) == "" {
			return w, nil, usage("--reason is required; the requester sees it")
		}
		w.typed = args[0]
		if !r.yes {
			var q approval.Request
			q, err = a.Approvals.Show(ctx, args[0])
			w.facts, w.risk = present.Decision(present.Options{Now: a.Now()}, q, reason), act.Consequence(q.Act.Kind)
		}
		return w, func(ctx context.Context) (record[requestJSON], error) {
			q, err := decide(a.Approvals, ctx, args[0], digest, reason)
			return value(requestOf(q)).says("%s", sentence(q)), err
		}, err
	})
	cmd.Flags().StringVar(&reason, "reason", "", "kept with the decision and in the audit trail")
	cmd.Flags().StringVar(&digest, "digest", "", "digest of the request that you read")
	return cmd
}

func noteAddCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Writes a note about the operation or the customer with that id. Notes are kept in " +
		"opdeck's store for everyone who uses it, and are never sent to the service. A note cannot be changed. The audit " +
		"trail records who wrote one about what, without its text."}
	return prints(r, cmd, func(ctx context.Context, a *app.App, args []string) (record[note.Note], error) {
		object, id, err := noted(ctx, a, args[0])
		if err != nil {
			return record[note.Note]{}, err
		}
		n, err := a.Notes.Add(ctx, object, id, strings.Join(args[1:], " "))
		return value(n).says("Note saved about %s %s.", n.Object, n.ID), err
	})
}

// noted is what a note is about: the operation or the customer with that id that the index knows, or the operation
// whose id begins like that.
func noted(ctx context.Context, a *app.App, typed string) (object, id string, err error) {
	known, wrong := customerKnown(ctx, a, typed)
	if known {
		return note.Customer, typed, nil
	}
	if id, err = a.Index.Resolve(ctx, typed, a.Now()); err == nil {
		if _, err = a.Index.Get(ctx, id); err == nil {
			return note.Operation, id, nil
		}
	}
	if err = cmp.Or(wrong, err); api.KindOf(err) == api.Usage || wrong != nil {
		return "", "", err
	}
	return "", "", &api.Error{Kind: api.NotFound,
		Public: fmt.Sprintf("No known operation or customer has the id %q.", typed),
		Hint:   "opdeck operation get or customer get reads it first."}
}

func noteListCommand(r *root) *cobra.Command {
	var text string
	cmd := &cobra.Command{Long: "Lists the notes about an operation or a customer, or about all, newest first: at most " +
		"200."}
	prints(r, lists(cmd), func(ctx context.Context, a *app.App, args []string) (_ listOf[note.Note], err error) {
		var found []note.Note
		if text != "" {
			found, err = a.Notes.Find(ctx, text, note.Kept)
		} else {
			found, err = a.Notes.About(ctx, "", strings.Join(args, ""))
		}
		o := r.options(ctx, a)
		o.Zone = cmp.Or(o.Zone, time.UTC)
		return items(found, listed(o, present.NoteListed, found).none("No notes.")), err
	})
	cmd.Flags().StringVar(&text, "text", "", "only notes that contain this, in any case")
	return cmd
}

func notifyTestCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Sends a notice that is marked as a test to the command or address of [notify], once " +
		"and at once, from this host. The exit code is 1 if the receiver did not take it."}
	return prints(r, cmd, func(ctx context.Context, a *app.App, _ []string) (record[notify.Notice], error) {
		n, err := app.NoticesOf(a).Try(ctx, r.env.Getenv)
		return value(n).says("Sent: test notice %s to %s.", n.ID, a.Config.Notify.To()), err
	})
}
