package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/journey"
	"opdeck/internal/present"
	"opdeck/ui/widget"
)

// onCustomer is the question of a write on a customer.
func onCustomer(cuid string) asked {
	return asked{object: act.Object{Item: "customer " + cuid, ID: cuid, Kind: "customer"}, typed: cuid}
}

type shared = sent[api.ShareResult]

func complianceShareCommand(r *root) *cobra.Command {
	var file string
	cmd := &cobra.Command{Long: "Applies a share token: a customer's own verified profile (INDIVIDUAL), or the " +
		"company's with its beneficiaries (CORPORATE). The token lives about 20 minutes and works once. It comes from " +
		"standard input, --token-file or a hidden prompt; never from an argument."}
	writes(r, cmd, func(ctx context.Context, a *app.App, args []string) (w asked, _ sending[shared], err error) {
		token, err := shareToken(r, file)
		w = onCustomer(args[0])
		send := func(ctx context.Context) (record[shared], error) { return share(ctx, r, a, args[0], token) }
		if err != nil || r.dryRun { // it sends nothing
			return w, send, err
		}
		c, err := endpoint.Do(ctx, a.Client, endpoint.GetCustomer, args[0])
		if err == nil {
			w.facts, w.risk = present.AskedCustomer(args[0], c), present.ShareRisk(c)
		} else if w.risk = present.ShareRiskUnread; !unreadable(err) {
			return w, send, err
		}
		if w.risk != "" && r.yes && r.output == "table" { // JSON errors are alone on standard error
			r.say("%s", w.risk)
		}
		return w, send, nil
	})
	cmd.Flags().StringVar(&file, "token-file", "", "file that contains the token")
	return cmd
}

// unreadable reports whether err is about one read only, so that a write on the object may succeed all the same.
func unreadable(err error) bool {
	switch api.AsError(err).Kind {
	case api.NotFound, api.Unavailable, api.Refused:
		return true
	}
	return false
}

// share applies a token. One that was not applied is a refusal (exit 5): nothing changed, and another one may be tried.
func share(ctx context.Context, r *root, a *app.App, cuid string, token secret.Value) (record[shared], error) {
	res, err := a.Journeys.Share(ctx, cuid, token)
	out := value(asSent(res.Raw, res))
	switch {
	case err != nil:
		return out, err
	case !res.Applied:
		out.exit = &api.Error{Op: "share", Kind: api.Refused, Public: "The token was not applied: " + res.Message.Line(300),
			Hint: "Nothing changed. Correct the token and try again."}
		return out, nil
	case r.output != "table":
		return out, nil
	}
	out = out.says("%s", strings.TrimSpace("Applied. "+res.Message.Line(300)))
	names := mapped(res.Outstanding, func(o api.OutstandingSet) string { return o.Name.Line(60) })
	if len(names) > 0 {
		out = out.says("Outstanding: %s.", strings.Join(names, ", "))
	}
	next, err := a.Journeys.After(ctx, cuid)
	if out.exit = err; err == nil {
		out = out.says("%s%s", next.Head(), next.Sentence(commandOf))
	}
	return out, nil
}

func complianceLinkCommand(r *root) *cobra.Command {
	var code bool
	cmd := writes(r, &cobra.Command{}, func(_ context.Context, a *app.App, args []string) (asked, sending[linkJSON],
		error) {
		return onCustomer(args[0]), func(ctx context.Context) (record[linkJSON], error) {
			l, err := a.Journeys.Link(ctx, args[0])
			out := line(linkJSON{l.Raw}, l.URL.Line(2000)).says("Then opdeck compliance journey %s shows the next step.",
				args[0])
			if err != nil || r.output != "table" {
				return out, err
			}
			left := present.LinkLeft(present.Options{Now: a.Now()}, l.Until(a.Now()))
			r.say("The link is %s; %s.", present.LinkFor, left.Text)
			if code {
				err = printQR(r, string(l.URL))
			}
			return out, err
		}, nil
	})
	cmd.Flags().BoolVar(&code, "qr", false, "also draw it as a QR code")
	return cmd
}

// linkJSON is the link's answer as received.
type linkJSON = sent[map[string]any]

// printQR draws the code for a phone's camera.
func printQR(r *root, s string) error {
	lines, err := widget.QR(s)
	if err != nil {
		return &api.Error{Kind: api.Internal, Public: "The link is too long for a QR code.", Err: err}
	}
	if r.env.OutTTY && !r.noColor && r.env.Getenv("NO_COLOR") == "" {
		for i, l := range lines { // light on dark on any background: many cameras cannot read it inverted
			lines[i] = "\x1b[97;40m" + l + "\x1b[m"
		}
	}
	_, err = fmt.Fprintln(r.env.Out, strings.Join(lines, "\n"))
	return err
}

func complianceFinalizeCommand(r *root) *cobra.Command {
	return writes(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string) (asked,
		sending[sent[api.Result]], error) {
		rec, err := a.Journeys.Store.Journey(ctx, args[0])
		w := onCustomer(args[0])
		w.facts, w.risk = present.Outstanding(rec), present.FinalizeRisk(rec)
		if err == nil && r.yes && r.output == "table" { // without a question; JSON errors are alone on standard error
			for _, f := range w.facts {
				r.say("%s: %s", f.Label, f.Value)
			}
			if w.risk != "" {
				r.say("%s", w.risk)
			}
		}
		return w, func(ctx context.Context) (record[sent[api.Result]], error) {
			res, err := a.Journeys.Finalize(ctx, args[0])
			said := strings.TrimRight(res.Message.Line(300), ". ")
			if said != "" {
				said = " " + said + "."
			}
			return value(asSent(res.Raw, res)).says("Finalized.%s The service now reviews it; opdeck compliance journey %s "+
				"shows the result.", said, args[0]), err
		}, err
	})
}

// commandOf names the command of an act.
func commandOf(kind api.ActKind) string {
	return " (opdeck " + (&act.Act{Name: string(kind)}).Path() + ")"
}

func complianceJourneyCommand(r *root) *cobra.Command {
	type steps = view[journey.Journey, journey.Step]
	return prints(r, lists(&cobra.Command{}), func(ctx context.Context, a *app.App, args []string) (steps, error) {
		j, err := a.Journeys.Read(ctx, args[0])
		if err != nil {
			return steps{}, err
		}
		for _, p := range present.JourneyProblems(j) {
			r.say("%s", p.Text)
		}
		return list(j, j.Steps, listed(r.options(ctx, a), present.JourneyColumns, present.JourneySteps(j))).
			says("%s%s", j.Next.Head(), j.Next.Sentence(commandOf)), nil
	})
}
