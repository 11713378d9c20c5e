package app

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/lending"
)

// BorrowerKeys reads the keys of the configured borrowers.
func (a *App) BorrowerKeys(getenv func(string) string) (*lending.Keys, error) {
	bad := func(what string, err error) error { return &api.Error{Kind: api.BadConfig, Public: what, Err: err} }
	keys := lending.NewKeys(a.Context.Role)
	for _, name := range slices.Sorted(maps.Keys(a.Config.Lend.Borrowers)) {
		b := a.Config.Lend.Borrowers[name]
		key, err := b.Key(getenv)
		if err != nil {
			at := config.Mistake{File: a.Config.Path, Line: b.Lines.Key, Key: "lend.borrowers." + name, What: err.Error()}
			return nil, bad(at.Error()+".", err)
		}
		if other, taken := keys.Find(key.Reveal()); taken {
			return nil, bad(fmt.Sprintf("The borrowers %s and %s have the same key; each needs its own.", other.Name, name), nil)
		}
		if err := keys.Add(key, keyedBorrower(a, name, b, key)); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// keyedBorrower is a borrower with a key: for approvals a person of its own, like one over SSH. Its fingerprint is
// keyed, because people choose keys.
func keyedBorrower(a *App, name string, b config.Borrower, key secret.Value) lending.Borrower {
	return lending.Borrower{Name: name, Role: b.Role, Priority: lending.Priority(b.Priority), PerMinute: b.PerMinute,
		Reveal: b.Reveal,
		Who: api.Actor{Name: name, Role: b.Role, Via: lending.Via, Key: "HMAC:" + a.digests.Of("borrower", key),
			Login: lending.Via + " " + name}}
}

// LocalBorrower is a command started by the person at this terminal. It has the role and limits of the configured
// borrower named as, else the person's role. For approvals it is that person.
func (a *App) LocalBorrower(as, command string) (lending.Borrower, error) {
	who := a.LocalActor(lending.Via)
	who.From = command
	out := lending.Borrower{Name: who.Name, Role: who.Role, Priority: lending.Background}
	if as != "" {
		b, ok := a.Config.Lend.Borrowers[as]
		if !ok {
			return out, &api.Error{Kind: api.Usage, Public: fmt.Sprintf("The config has no [lend.borrowers.%s].", as),
				Hint: "--as takes the name of a borrower; without it the command runs with your own role."}
		}
		out = lending.Borrower{Name: as, Role: b.Role, Priority: lending.Priority(b.Priority), PerMinute: b.PerMinute,
			Reveal: b.Reveal}
		who.Name, who.Role = as, b.Role
	}
	out.Who = who
	return out, nil
}

// ChildEnv is the environment of a program that opdeck starts: its own without the variables that hold secrets, and
// without others.
func (a *App) ChildEnv(others ...string) []string {
	names := append(secretNames(a.Config, a.Context), others...)
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// secretNames lists the configured environment variables that hold secrets, also of other contexts: a command that
// borrows the session gets none of them.
func secretNames(all config.Config, current config.Context) []string {
	names := []string{"OPDECK_PASSWORD", current.PasswordEnv, all.Webhooks.SecretEnv}
	for _, c := range all.Contexts {
		names = append(names, c.PasswordEnv)
	}
	for _, b := range all.Lend.Borrowers {
		names = append(names, b.KeyEnv)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
