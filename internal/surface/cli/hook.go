package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/domain/mask"
	"opdeck/internal/present"
)

// hooksJSON holds the settings under the service's names, with dots for the secret; null: not reported.
type hooksJSON struct {
	Enabled            *bool           `json:"enabled"`
	HookURL            *untrusted.Text `json:"hookUrl"`
	HookCustomer       *bool           `json:"hookCustomer"`
	HookOperation      *bool           `json:"hookOperation"`
	HookDepositAccount *bool           `json:"hookDepositAccount"`
	HookCounterparty   *bool           `json:"hookCounterparty"`
	Secret             *secret.Value   `json:"jwtSecret"`
}

func hooksOf(h api.HookSettings) hooksJSON {
	return hooksJSON{reported(h, "enabled", h.Enabled), reported(h, "hookUrl", h.HookURL),
		reported(h, "hookCustomer", h.HookCustomer),
		reported(h, "hookOperation", h.HookOperation),
		reported(h, "hookDepositAccount", h.HookDepositAccount), reported(h, "hookCounterparty", h.HookCounterparty),
		reported(h, "jwtSecret", h.JWTSecret)}
}

// reported is the value of a member of the settings, nil if it was not reported.
func reported[T any](h api.HookSettings, member string, v T) *T {
	if !h.Knows(member) {
		return nil
	}
	return &v
}

// hookView shows the settings.
func hookView(h api.HookSettings) record[hooksJSON] {
	return card(hooksOf(h), present.Section{Facts: present.HookSettings(h)})
}

func hookGetCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, _ []string) (record[hooksJSON], error) {
		h, err := endpoint.Do(ctx, a.Client, endpoint.GetHooks, struct{}{})
		if h.Unreported != "" {
			r.say("The service did not report %s.", strings.ReplaceAll(strings.TrimSuffix(h.Unreported, ","), ",", ", "))
		}
		return hookView(h), err
	})
}

// hookFlags are the boolean settings by flag.
var hookFlags = []struct {
	flag, json, help string
	of               func(*api.HookSettings) *bool
}{
	{"enabled", "enabled", "send webhooks at all (--enabled=false: none)",
		func(h *api.HookSettings) *bool { return &h.Enabled }},
	{"customers", "hookCustomer", "about customers", func(h *api.HookSettings) *bool { return &h.HookCustomer }},
	{"operations", "hookOperation", "about operations", func(h *api.HookSettings) *bool { return &h.HookOperation }},
	{"accounts", "hookDepositAccount", "about accounts", func(h *api.HookSettings) *bool { return &h.HookDepositAccount }},
	{"counterparties", "hookCounterparty", "about counterparties",
		func(h *api.HookSettings) *bool { return &h.HookCounterparty }},
}

// hookChange holds the flags of hook set.
type hookChange struct {
	given      api.HookSettings // values of the given flags
	url        string
	secretFile string
	newSecret  bool
	flags      *pflag.FlagSet
}

func hookSetCommand(r *root) *cobra.Command {
	var c hookChange
	cmd := &cobra.Command{Long: "Reads the settings, changes what the flags set, and writes them back. A new secret " +
		"comes from --secret-file, or with --new-secret from standard input or a hidden prompt; never from an argument. " +
		"If that is empty, --new-secret takes the one configured in [webhooks]. A dry run reads nothing and shows " +
		"unchanged settings as null."}
	c.flags = cmd.Flags()
	c.flags.StringVar(&c.url, "url", "", "address that receives the webhooks")
	for _, f := range hookFlags {
		c.flags.BoolVar(f.of(&c.given), f.flag, false, f.help)
	}
	c.flags.StringVar(&c.secretFile, "secret-file", "", "file that contains a new secret")
	c.flags.BoolVar(&c.newSecret, "new-secret", false, "ask for a new secret, or take it from standard input")
	return writes(r, cmd, func(ctx context.Context, a *app.App, _ []string) (asked, sending[hooksJSON], error) {
		return setHooks(r, ctx, a, &c)
	})
}

func setHooks(r *root, ctx context.Context, a *app.App, c *hookChange) (w asked, _ sending[hooksJSON], err error) {
	var key secret.Value
	if err := c.check(); err != nil {
		return w, nil, err
	}
	if c.secretFile != "" || c.newSecret {
		if key, err = newHookSecret(r, a, c.secretFile); err == nil {
			err = endpoint.CheckHookSecret(key)
		}
		if err != nil {
			return w, nil, err
		}
	}
	h := api.HookSettings{Unreported: strings.Join(api.HookMembers, ",") + ","} // a real run reads them first
	if !r.dryRun {
		// What stays is sent back, so it is read unmasked.
		if h, err = endpoint.Do(mask.ByCaller(ctx), a.Client, endpoint.GetHooks, struct{}{}); err != nil {
			return w, nil, err
		}
	}
	c.apply(&h, key)
	w.typed, w.facts = endpoint.HookObject, []present.Fact{{Label: "context", Value: a.Context.Name},
		{Label: "change", Value: strings.Join(c.changes(), ", ")}}
	return w, func(ctx context.Context) (record[hooksJSON], error) {
		if _, err := endpoint.Do(ctx, a.Client, endpoint.SetHooks, h); err != nil {
			return record[hooksJSON]{}, err
		}
		r.say("Set.")
		if h.Knows("enabled") && !h.Enabled {
			r.say("Webhooks are off, so the service sends none: opdeck hook set --enabled turns them on.")
		}
		return hookView(mask.For(ctx, h)), nil
	}, nil
}

// newHookSecret reads the secret from the file, the prompt or standard input; if it is empty, the configured one is
// used, with which our receiver verifies.
func newHookSecret(r *root, a *app.App, file string) (secret.Value, error) {
	s, err := r.readSecret(file, "New webhook secret (not shown): ")
	if err != nil {
		return secret.Value{}, err
	}
	if s = strings.TrimSpace(s); s != "" || file != "" {
		return secret.New(s), nil
	}
	named, err := a.Hooks().Secrets(r.env.Getenv)
	if err != nil || named.Now.Empty() {
		return secret.Value{}, usage("no new secret was given, and the config names none")
	}
	r.say("No new secret was given. opdeck uses the one configured in [webhooks].")
	return named.Now, nil
}

// changes lists the given flags, without the secret.
func (c *hookChange) changes() (out []string) {
	if c.flags.Changed("url") {
		out = append(out, "url "+c.url)
	}
	for _, f := range hookFlags {
		if c.flags.Changed(f.flag) {
			out = append(out, fmt.Sprintf("%s %t", f.flag, *f.of(&c.given)))
		}
	}
	if c.secretFile != "" || c.newSecret {
		out = append(out, "a new secret")
	}
	return out
}

func (c *hookChange) check() error {
	if len(c.changes()) == 0 {
		return usage("nothing to set; name at least one of --url, --enabled, --customers, --operations, --accounts, " +
			"--counterparties, --secret-file, --new-secret")
	}
	return endpoint.CheckHookURL(c.url)
}

func (c *hookChange) apply(h *api.HookSettings, key secret.Value) {
	if c.flags.Changed("url") {
		h.HookURL = untrusted.Text(c.url)
		h.Set("hookUrl")
	}
	for _, f := range hookFlags {
		if c.flags.Changed(f.flag) {
			*f.of(h) = *f.of(&c.given)
			h.Set(f.json)
		}
	}
	if !key.Empty() {
		h.JWTSecret = key
		h.Set("jwtSecret")
	}
}
