package app

import (
	"context"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strings"
	"time"

	"opdeck/internal/app/config"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/holdings"
	"opdeck/internal/store"
)

const (
	sessionsLast     = 24 * time.Hour // longer than any session over SSH
	certificatesLast = 25 * time.Hour // the longest accepted lifetime
	lastActs         = 10
)

// Holdings lists what this context's config and store know of a person, except SSH keys. The person in ctx needs
// api.MayAudit; reading the trail is recorded.
func Holdings(ctx context.Context, a *App, name string) (holdings.Person, error) {
	p := holdings.Person{Name: name}
	is := func(other string) bool { return approval.SameName(other, name) }
	p.Holdings = append(borrowerKeys(a.Config, is), hostAccount(a, name)...)
	requests, err := a.Approvals.List(ctx)
	if err != nil {
		return p, err
	}
	p.Holdings = append(p.Holdings, holdings.Requests(requests, is)...)
	acts, err := a.Audit.Reader.Find(ctx, audit.Query{Actor: name, Limit: 1000})
	if err != nil {
		return p, err
	}
	p.Acts = acts.Entries[:min(lastActs, len(acts.Entries))]
	consoles, err := a.Audit.Reader.Find(ctx, audit.Query{Actor: name, Event: "console.*",
		From: a.Now().Add(-sessionsLast), Limit: 1000})
	if err != nil {
		return p, err
	}
	ended, err := endedProcesses(ctx, a)
	if err != nil {
		return p, err
	}
	p.Holdings = append(p.Holdings, holdings.Sessions(consoles.Entries, ended)...)
	if ca := a.Config.SSH.TrustedCA; ca != "" {
		since := a.Now().Add(-certificatesLast)
		p.Holdings = append(p.Holdings, holdings.Certificates(acts.Entries, since, ca)...)
	}
	st, err := a.Session.Status(ctx)
	if err != nil {
		return p, err
	}
	for _, i := range st.Seen {
		if is(i.Owner.User) && !i.Gone {
			p.Holdings = append(p.Holdings, holdings.Holding{Kind: holdings.Process, State: "running",
				What: fmt.Sprintf("opdeck %s, process %d", i.Owner.Version, i.Owner.PID), Where: i.Owner.Host,
				Since: st.AsOf.Add(-i.Ago - st.Ahead), Remove: "end the process there"})
		}
	}
	rows, err := a.Follow.Pending(ctx)
	p.Holdings = append(p.Holdings, holdings.Writes(rows, is)...)
	p.Unseen = unseen(a)
	return p, err
}

// endedProcesses returns which processes have recorded their end.
func endedProcesses(ctx context.Context, a *App) (func(boot string) bool, error) {
	stops, err := a.Audit.Reader.Find(ctx, audit.Query{Event: audit.EventStop, From: a.Now().Add(-sessionsLast),
		Limit: 1000})
	boots := map[string]bool{}
	for _, e := range stops.Entries {
		boots[e.Boot] = true
	}
	return func(boot string) bool { return boots[boot] }, err
}

// borrowerKeys are the keys of the borrowers with a person's name.
func borrowerKeys(c config.Config, is func(name string) bool) []holdings.Holding {
	var out []holdings.Holding
	for _, name := range slices.Sorted(maps.Keys(c.Lend.Borrowers)) {
		if b := c.Lend.Borrowers[name]; is(name) {
			out = append(out, holdings.Holding{Kind: holdings.BorrowerKey, What: "[lend.borrowers." + name + "], " +
				keySource(b),
				Where: fmt.Sprintf("%s:%d", c.Path, b.Lines.Key), Role: b.Role,
				Remove: "delete the section, or put a new key there; then restart opdeck serve"})
		}
	}
	return out
}

func keySource(b config.Borrower) string {
	if b.KeyFile != "" {
		return "key_file " + b.KeyFile
	}
	return "key_env " + b.KeyEnv
}

// hostAccount is the account of that name on this host: who can read config and state has the role of the context.
func hostAccount(a *App, name string) []holdings.Holding {
	u, err := user.Lookup(name)
	if err != nil {
		return nil
	}
	return []holdings.Holding{{Kind: holdings.Account, What: "user id " + u.Uid + " on this host", Where: HostName(),
		Role: a.Context.Role, State: "works with this role if it can read the config and the state folder",
		Remove: "lock the account (usermod -L " + name + "), or take it out of the groups that can read " + a.State}}
}

// unseen is what a person may know or have copied, by what the config names, with how to make it useless.
func unseen(a *App) []holdings.Unseen {
	c := a.Config
	var out []holdings.Unseen
	add := func(what, do string) { out = append(out, holdings.Unseen{What: what, Do: do}) }
	for _, name := range slices.Sorted(maps.Keys(c.Contexts)) {
		if x := c.Contexts[name]; !x.Sandbox {
			add("the password of the account of context "+name, "change it at the service, then in "+passwordSource(x)+
				": docs/admin.md, Rotation")
		}
	}
	if a.Store.Core.Engine() == store.Postgres {
		add("the password of the database", "change it in PostgreSQL, then in [store] url")
		add("a copy of [store] key_file", "with it and the database a person can read the tokens: replace it on every host")
	} else {
		add("a copy of "+a.State+" with its key files", "replace opdeck.db.key; log in once more, which ends the copied "+
			"session")
	}
	add("a copy of audit.key, or of the checkpoints", "opdeck audit key --new after moving the old key away")
	if c.SSH.Listen != "" {
		add("a copy of the SSH host key", "replace "+c.SSH.HostKey+" and publish the new fingerprint")
	}
	if c.SSH.TrustedCA != "" {
		add("certificates that were not used yet, and the key of an authority", "revoke them in "+c.SSH.TrustedCA)
	}
	if c.Webhooks.Listen != "" {
		add("the webhook secret", "opdeck hook set with a new secret; keep the old one in the second line meanwhile")
	}
	if names := slices.Sorted(maps.Keys(c.Lend.Borrowers)); len(names) > 0 {
		add("the keys of the borrowers "+strings.Join(names, ", "), "replace each key that the person could read")
	}
	add("a backup, or an export of operations or of the trail", "opdeck audit list --event export shows who exported")
	return out
}

func passwordSource(x config.Context) string {
	switch {
	case x.PasswordFile != "":
		return "password_file " + x.PasswordFile
	case x.PasswordCommand != "":
		return "what password_command prints"
	}
	return "the variable " + x.PasswordEnv
}
