package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/ui/widget"
)

var complianceCommands = commands{
	"compliance.share": (*root).complianceShare, "compliance.link": (*root).complianceLink,
	"compliance.finalize": (*root).complianceFinalize, "compliance.journey": (*root).complianceJourney,
}

// onCustomer is a write about a customer.
func onCustomer(cuid string, send func(context.Context) error) asked {
	return asked{object: act.Object{Item: "customer " + cuid, ID: cuid, Kind: "customer"}, typed: cuid, send: send}
}

func (r *root) complianceShare() *cobra.Command {
	var file string
	cmd := &cobra.Command{Long: "Applies a share token: a customer's own verified profile (INDIVIDUAL), or the company's with\n" +
		"its beneficiaries (CORPORATE). The token lives about 20 minutes and works once. It comes from\n" +
		"standard input, --token-file or a hidden prompt; never from an argument.",
		RunE: r.asks(func(_ context.Context, a *app.App, args []string) (asked, error) {
			token, err := r.shareToken(file)
			if err != nil {
				return asked{}, err
			}
			return onCustomer(args[0], func(ctx context.Context) error {
				res, err := a.Journeys.Share(ctx, args[0], token)
				if err != nil {
					return err
				}
				return r.printShare(args[0], res)
			}), nil
		})}
	cmd.Flags().StringVar(&file, "token-file", "", "file that holds the token")
	return cmd
}

// printShare tells what the token did. A token that was not applied is a
// refusal (exit 5): nothing changed, and another one may be tried.
func (r *root) printShare(cuid string, res api.ShareResult) error {
	if r.output == "json" || r.output == "jsonl" {
		raw := any(res)
		if len(res.Raw) > 0 {
			raw = res.Raw
		}
		if err := r.printJSON(raw); err != nil {
			return err
		}
	}
	if !res.Applied {
		return &api.Error{Op: "share", Kind: api.Refused, Public: "The token was not applied: " + res.Message.Line(300),
			Hint: "Nothing was changed; it can be tried again with a corrected token."}
	}
	if r.output != "table" {
		return nil
	}
	r.say("Applied. %s", res.Message.Line(300))
	if res.Outstanding == nil {
		r.say("What is outstanding is not known. opdeck compliance link %s makes an address that shows the customer what is missing.", cuid)
	}
	if len(res.Outstanding) > 0 {
		r.say("Outstanding: %s. opdeck compliance link %s makes an address where the customer gives them.", outstanding(res), cuid)
	}
	r.say("Next: opdeck compliance finalize %s", cuid)
	return nil
}

func outstanding(res api.ShareResult) string {
	var names []string
	for _, o := range res.Outstanding {
		names = append(names, o.Name.Line(60))
	}
	return strings.Join(names, ", ")
}

func (r *root) complianceLink() *cobra.Command {
	var code bool
	cmd := &cobra.Command{RunE: r.asks(func(_ context.Context, a *app.App, args []string) (asked, error) {
		return onCustomer(args[0], func(ctx context.Context) error {
			l, err := a.Journeys.Link(ctx, args[0])
			if err != nil {
				return err
			}
			if r.output != "table" {
				return r.printJSON(l.Raw)
			}
			r.say("For the customer's own browser; works once, for %d s.", l.TTL)
			if code {
				if err := r.printQR(string(l.URL)); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintln(r.env.Out, l.URL.Line(2000))
			return err
		}), nil
	})}
	cmd.Flags().BoolVar(&code, "qr", false, "also draw it as a QR code")
	return cmd
}

// printQR draws the code for a phone's camera.
func (r *root) printQR(s string) error {
	lines, err := widget.QR(s)
	if err != nil {
		return &api.Error{Kind: api.Internal, Public: "The link is too long for a QR code.", Err: err}
	}
	if r.env.OutTTY && !r.noColor && r.env.Getenv("NO_COLOR") == "" {
		for i, l := range lines { // light on dark, whatever the terminal's ground: many cameras do not read it inverted
			lines[i] = "\x1b[97;40m" + l + "\x1b[m"
		}
	}
	_, err = fmt.Fprintln(r.env.Out, strings.Join(lines, "\n"))
	return err
}

func (r *root) complianceFinalize() *cobra.Command {
	return &cobra.Command{RunE: r.asks(func(_ context.Context, a *app.App, args []string) (asked, error) {
		return onCustomer(args[0], func(ctx context.Context) error {
			res, err := a.Journeys.Finalize(ctx, args[0])
			if err != nil {
				return err
			}
			if r.output != "table" && len(res.Raw) > 0 {
				return r.printJSON(res.Raw)
			}
			r.say("Finalized. %s", res.Message.Line(300))
			return nil
		}), nil
	})}
}

// commandOf says with which command an act is done.
func commandOf(kind api.ActKind) string {
	return " (opdeck " + act.Act{Name: string(kind)}.Path() + ")"
}

func (r *root) complianceJourney() *cobra.Command {
	return lists(&cobra.Command{Use: "journey", RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
		j, err := a.Journeys.Read(ctx, args[0])
		if err != nil {
			return err
		}
		for _, missing := range []string{j.NoRecord, j.Problem} {
			if missing != "" {
				r.say("%s", missing)
			}
		}
		t := &table{head: []string{"STEP", "STATE", "WHAT"}}
		for i, s := range j.Steps {
			t.add(strconv.Itoa(i+1)+" "+s.Name, string(s.State), safeText(s.Note))
		}
		if err := r.list(t, j, toAny(j.Steps)); err != nil || r.output != "table" {
			return err
		}
		r.say("Next: %s", j.Next.Sentence(commandOf))
		return nil
	})})
}
