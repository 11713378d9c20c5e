package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/holdings"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/internal/surface/sshserver"
)

// whoJSON is what is known of a person. not_visible is what opdeck cannot see, not_read what could not be read now.
type whoJSON struct {
	Person     string             `json:"person"`
	Holds      []holdings.Holding `json:"holds"`
	Acts       []recordJSON       `json:"acts"`
	NotVisible []holdings.Unseen  `json:"not_visible"`
	NotRead    []string           `json:"not_read"`
}

func whoCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{Long: "Lists what a person has, and how to remove it: SSH keys and certificates,\n" +
		"the key of a borrower of the same name, an account on this host, requests for approval, open sessions,\n" +
		"processes and writes with an unknown outcome; then the last records of the trail, and what a person may\n" +
		"have without a record here. Names that look alike count as one. It covers the context in use: repeat it\n" +
		"with -c for each. Exit 4 if nothing names the person, 1 if a source could not be read."},
		func(ctx context.Context, a *app.App, args []string, out one[whoJSON]) error {
			p, err := app.Holdings(ctx, a, args[0])
			if err != nil {
				return err
			}
			addSSHKeys(&p, a, time.Now())
			if !p.Known() && len(p.Unread) == 0 {
				return &api.Error{Kind: api.NotFound, Public: "Nothing names " + oneLine(args[0]) + " in context " +
					a.Context.Name + ".", Hint: "Names are those of authorized_keys, of certificates and of this host's accounts; " +
					"opdeck audit list shows who did what."}
			}
			v := whoJSON{Person: p.Name, Holds: p.Holdings, NotVisible: p.Unseen, NotRead: p.Unread}
			for _, e := range p.Acts {
				v.Acts = append(v.Acts, recordOf(e))
			}
			if err := out.text(v, whoText(r.options(ctx, a), p)); err != nil {
				return err
			}
			if len(p.Unread) > 0 {
				return exitError(1)
			}
			return nil
		})
}

// addSSHKeys puts the lines of authorized_keys that name the person first.
func addSSHKeys(p *holdings.Person, a *app.App, now time.Time) {
	c := a.Config.SSH
	if c.AuthorizedKeys == "" && c.TrustedCA == "" {
		return
	}
	keys, err := sshserver.LoadAuthorizedKeys(c.AuthorizedKeys, c.TrustedCA, time.Now)
	if err != nil {
		p.Unread = append(p.Unread, err.Error())
		return
	}
	var out []holdings.Holding
	for _, k := range keys.List() {
		if !approval.SameName(k.Name, p.Name) {
			continue
		}
		h := holdings.Holding{Kind: holdings.SSHKey, What: k.Fingerprint, Where: fmt.Sprintf("%s:%d", k.File, k.Line),
			Role: k.Role, Until: k.Until, Remove: "delete this line; sessions and approvals of the key end within a minute"}
		switch {
		case k.Revoked:
			h.State = "revoked"
		case !k.Until.IsZero() && !now.Before(k.Until):
			h.State = "expired"
		}
		out = append(out, h)
	}
	p.Holdings = append(out, p.Holdings...)
	for _, m := range keys.Mistakes() {
		p.Unread = append(p.Unread, m.Error())
	}
}

func whoText(o present.Options, p holdings.Person) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s holds:\n", oneLine(p.Name))
	if len(p.Holdings) == 0 {
		b.WriteString("  nothing that opdeck can see\n")
	}
	for _, h := range p.Holdings {
		line, remove := present.Holding(o, h)
		b.WriteString("  " + line + "\n")
		if remove != "" {
			b.WriteString("      to remove: " + remove + "\n")
		}
	}
	if len(p.Acts) > 0 {
		b.WriteString("\nLast records:\n")
		for _, e := range p.Acts {
			fmt.Fprintf(&b, "  %s  %s  %s  %s\n", format.Time(e.At, o.Zone), present.AuditEvent(e), present.AuditObject(e),
				present.AuditOutcome(e).Word)
		}
	}
	b.WriteString("\nopdeck has no record of these, and the person may have them:\n")
	for _, u := range p.Unseen {
		b.WriteString("  " + present.Unseen(u) + "\n")
	}
	for _, s := range p.Unread {
		b.WriteString("Not read: " + oneLine(s) + "\n")
	}
	return b.String()
}
