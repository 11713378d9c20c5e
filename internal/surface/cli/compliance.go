package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/journey"
	"opdeck/internal/present"
	"opdeck/ui/widget"
)

var complianceCommands = commands{
	act.ComplianceShare: complianceShareCommand, act.ComplianceLink: complianceLinkCommand,
	act.ComplianceFinalize: complianceFinalizeCommand, act.ComplianceJourney: complianceJourneyCommand,
}

// onCustomer is a write on a customer.
func onCustomer(cuid string, send func(context.Context) error) asked {
	return asked{object: act.Object{Item: "customer " + cuid, ID: cuid, Kind: "customer"}, typed: cuid, send: send}
}

func complianceShareCommand(r *root) *cobra.Command {
	var file string
	cmd := &cobra.Command{Long: "Applies a share token: a customer's own verified profile (INDIVIDUAL), or the " +
		"company's with\n" +
		"its beneficiaries (CORPORATE). The token lives about 20 minutes and works once. It comes from\n" +
		"standard input, --token-file or a hidden prompt; never from an argument."}
	writes(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[sent[api.ShareResult]]) (asked, error) {
		token, err := shareToken(r, file)
		if err != nil {
			return asked{}, err
		}
		w := onCustomer(args[0], func(ctx context.Context) error {
			res, err := a.Journeys.Share(ctx, args[0], token)
			if err != nil {
				return err
			}
			return printShare(ctx, r, a, args[0], res, out)
		})
		if r.dryRun { // it sends nothing
			return w, nil
		}
		c, err := endpoint.Do(ctx, a.Client, endpoint.GetCustomer, args[0])
		if err == nil {
			w.facts, w.risk = present.AskedCustomer(args[0], c), present.ShareRisk(c)
		} else if w.risk = present.ShareRiskUnread; !unreadable(err) {
			return asked{}, err
		}
		if w.risk != "" && r.yes && r.output == "table" { // JSON errors are alone on standard error
			r.say("%s", w.risk)
		}
		return w, nil
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

// printShare prints the result of a share. A token that was not applied is a refusal (exit 5): nothing changed, and
// another one may be tried.
func printShare(ctx context.Context, r *root, a *app.App, cuid string, res api.ShareResult,
	out one[sent[api.ShareResult]]) error {
	if r.output != "table" {
		if err := out.json(asSent(res.Raw, res)); err != nil {
			return err
		}
	}
	if !res.Applied {
		return &api.Error{Op: "share", Kind: api.Refused, Public: "The token was not applied: " + res.Message.Line(300),
			Hint: "Nothing changed. Correct the token and try again."}
	}
	if r.output != "table" {
		return nil
	}
	r.say("%s", strings.TrimSpace("Applied. "+res.Message.Line(300)))
	var names []string
	for _, o := range res.Outstanding {
		names = append(names, o.Name.Line(60))
	}
	if len(names) > 0 {
		r.say("Outstanding: %s.", strings.Join(names, ", "))
	}
	next, err := a.Journeys.After(ctx, cuid)
	if err != nil {
		return err
	}
	r.say("%s%s", next.Head(), next.Sentence(commandOf))
	return nil
}

func complianceLinkCommand(r *root) *cobra.Command {
	var code bool
	cmd := writes(r, &cobra.Command{}, func(_ context.Context, a *app.App, args []string, out one[linkJSON]) (asked,
		error) {
		return onCustomer(args[0], func(ctx context.Context) error {
			l, err := a.Journeys.Link(ctx, args[0])
			if err != nil {
				return err
			}
			if r.output == "table" {
				left := present.LinkLeft(present.Options{Now: a.Now()}, l.Until(a.Now()))
				r.say("The link is %s; %s.", present.LinkFor, left.Text)
				if code {
					if err := printQR(r, string(l.URL)); err != nil {
						return err
					}
				}
				defer r.say("Then opdeck compliance journey %s shows the next step.", args[0])
			}
			return out.data(linkJSON{l.Raw}, l.URL.Line(2000))
		}), nil
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
	return writes(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string,
		out one[sent[api.Result]]) (asked, error) {
		rec, err := a.Journeys.Store.Journey(ctx, args[0])
		if err != nil {
			return asked{}, err
		}
		w := onCustomer(args[0], func(ctx context.Context) error {
			res, err := a.Journeys.Finalize(ctx, args[0])
			if err != nil {
				return err
			}
			said := strings.TrimRight(res.Message.Line(300), ". ")
			if said != "" {
				said = " " + said + "."
			}
			return out.report(asSent(res.Raw, res), "Finalized.%s The service now reviews it; opdeck compliance journey %s "+
				"shows the result.", said, args[0])
		})
		w.facts, w.risk = present.Outstanding(rec), present.FinalizeRisk(rec)
		if r.yes && r.output == "table" { // without a question; JSON errors are alone on standard error
			for _, f := range w.facts {
				r.say("%s: %s", f.Label, f.Value)
			}
			if w.risk != "" {
				r.say("%s", w.risk)
			}
		}
		return w, nil
	})
}

// commandOf names the command of an act.
func commandOf(kind api.ActKind) string {
	return " (opdeck " + (&act.Act{Name: string(kind)}).Path() + ")"
}

func complianceJourneyCommand(r *root) *cobra.Command {
	return printsList(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string,
		out many[journey.Journey, journey.Step]) error {
		j, err := a.Journeys.Read(ctx, args[0])
		if err != nil {
			return err
		}
		for _, p := range present.JourneyProblems(j) {
			r.say("%s", p.Text)
		}
		err = out.print(j, j.Steps, listed(r.options(ctx, a), present.JourneyColumns, present.JourneySteps(j)))
		if err == nil && r.output == "table" {
			r.say("%s%s", j.Next.Head(), j.Next.Sentence(commandOf))
		}
		return err
	})
}
