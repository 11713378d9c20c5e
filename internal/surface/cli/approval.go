package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/internal/present"
)

var approvalCommands = commands{
	act.ApprovalList: approvalListCommand, act.ApprovalShow: approvalShowCommand,
	act.ApprovalApprove: approvalApproveCommand, act.ApprovalDeny: approvalDenyCommand,
}

var approvalStates = []approval.State{approval.Open, approval.Approved, approval.Denied, approval.Lapsed,
	approval.Spent, approval.Void}

func approvalListCommand(r *root) *cobra.Command {
	var state []string
	cmd := printsList(r, &cobra.Command{}, func(ctx context.Context, a *app.App, _ []string,
		out listOf[approval.Request]) error {
		var states []approval.State
		for _, s := range state {
			if !slices.Contains(approvalStates, approval.State(s)) {
				return usage("--state must be open, approved, denied, lapsed, spent or void, not %q", s)
			}
			states = append(states, approval.State(s))
		}
		list, err := a.Approvals.List(ctx, states...)
		if err != nil {
			return err
		}
		return out.print(list, list, listed(present.Options{Now: a.Now()}, present.RequestListed, list).
			none("No requests. A write creates one where the context has approval = \"second_person\"."))
	})
	cmd.Flags().StringSliceVar(&state, "state", nil, "only these: open, approved, denied, lapsed, spent, void")
	return cmd
}

func approvalShowCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string,
		out one[approval.Request]) error {
		q, err := a.Approvals.Show(ctx, args[0])
		if err != nil {
			return err
		}
		if err := out.card(q, card(present.Request(present.Options{Now: a.Now()}, q))); err != nil || r.output != "table" ||
			q.State != approval.Open {
			return err
		}
		r.say("To decide: opdeck approval approve %s or deny %s, with --digest %s to name exactly this request.", q.ID, q.ID,
			q.Digest)
		return nil
	})
}

func approvalApproveCommand(r *root) *cobra.Command {
	return approvalDecideCommand(r, "Approved. The requester can now send it once.", false,
		(*approval.Service).Approve)
}

func approvalDenyCommand(r *root) *cobra.Command {
	return approvalDecideCommand(r, "Denied.", true, (*approval.Service).Deny)
}

// approvalDecideCommand is approve or deny.
func approvalDecideCommand(r *root, sentence string, needsReason bool,
	decide func(*approval.Service, context.Context, string, string, string) (approval.Request, error)) *cobra.Command {
	var reason, digest string
	cmd := &cobra.Command{
		Long: "You cannot decide about your own request. Over SSH a person is a key, a login name and a\n" +
			"certificate id; locally, the user id on this host. You must share none of these with the\n" +
			"requester, and both of you must use SSH, or both the same host. This does not stop root or\n" +
			"people who know the password of the account or of the store. Use --digest (from approval show) to name exactly " +
			"the request that you read."}
	writes(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[approval.Request]) (asked, error) {
		if needsReason && strings.TrimSpace(reason) == "" {
			return asked{}, usage("--reason is needed; the requester sees it")
		}
		w := asked{typed: args[0], send: func(ctx context.Context) error {
			q, err := decide(a.Approvals, ctx, args[0], digest, reason)
			if err != nil {
				return err
			}
			return out.report(q, "%s", sentence)
		}}
		if r.yes {
			return w, nil
		}
		q, err := a.Approvals.Show(ctx, args[0])
		w.facts = append([]present.Fact{{Label: "act", Value: string(q.Act.Kind)}, {Label: "what", Value: q.Act.Summary}},
			present.Decision(q, reason)...)
		w.risk = act.Consequence(q.Act.Kind)
		return w, err
	})
	cmd.Flags().StringVar(&reason, "reason", "", "kept with the decision and in the audit trail")
	cmd.Flags().StringVar(&digest, "digest", "", "digest of the request that you read")
	return cmd
}
