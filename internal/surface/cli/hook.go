package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
)

var hookCommands = commands{
	"hook.get": (*root).hookGet, "hook.set": (*root).hookSet,
}

func (r *root) hookGet() *cobra.Command {
	return &cobra.Command{Use: "get", RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
		h, err := a.Client.Hooks(ctx)
		if err != nil {
			return err
		}
		return r.printHooks(h)
	})}
}

func (r *root) printHooks(h api.HookSettings) error {
	if r.output != "table" {
		return r.printJSON(hookJSON(h))
	}
	t := &table{head: []string{"FIELD", "VALUE"}}
	t.add("enabled", yesNo(h.Enabled))
	t.add("url", h.HookURL.Line(500))
	t.add("secret", h.JWTSecret.String())
	t.add("customers", yesNo(h.HookCustomer))
	t.add("operations", yesNo(h.HookOperation))
	t.add("accounts", yesNo(h.HookDepositAccount))
	t.add("counterparties", yesNo(h.HookCounterparty))
	return t.write(r.env.Out)
}

// hookJSON is the settings in the service's names, the secret as dots.
func hookJSON(h api.HookSettings) any {
	return struct {
		api.HookSettings
		Secret secret.Value `json:"jwtSecret"`
	}{h, h.JWTSecret}
}

// hookChange is what the flags of hook set say.
type hookChange struct {
	url, secretFile                                     string
	newSecret                                           bool
	enabled, customer, operation, account, counterparty bool
	flags                                               *pflag.FlagSet
}

func (r *root) hookSet() *cobra.Command {
	var c hookChange
	cmd := &cobra.Command{Long: "Reads the settings, changes what the flags name, and writes them back. A new secret comes from\n" +
		"--secret-file, or with --new-secret from standard input or a hidden prompt; never from an\n" +
		"argument. When nothing is given there, --new-secret takes the one that [webhooks] of the\n" +
		"config names. A dry run reads nothing: null stands for what stays as it is.",
		RunE: r.asks(func(ctx context.Context, a *app.App, _ []string) (asked, error) { return r.setHooks(ctx, a, &c) })}
	f := cmd.Flags()
	c.flags = f
	f.StringVar(&c.url, "url", "", "address that receives the webhooks")
	f.BoolVar(&c.enabled, "enabled", false, "send webhooks at all (--enabled=false: none)")
	f.BoolVar(&c.customer, "customers", false, "about customers")
	f.BoolVar(&c.operation, "operations", false, "about operations")
	f.BoolVar(&c.account, "accounts", false, "about accounts")
	f.BoolVar(&c.counterparty, "counterparties", false, "about counterparties")
	f.StringVar(&c.secretFile, "secret-file", "", "file that holds a new secret")
	f.BoolVar(&c.newSecret, "new-secret", false, "ask for a new secret, or take it from standard input")
	return cmd
}

func (r *root) setHooks(ctx context.Context, a *app.App, c *hookChange) (asked, error) {
	var key secret.Value
	if err := c.check(); err != nil {
		return asked{}, err
	}
	if c.secretFile != "" || c.newSecret {
		var err error
		if key, err = r.newHookSecret(a, c.secretFile); err != nil {
			return asked{}, err
		}
		if _, err := hook.NewVerifier(hook.VerifyJWT, "", hook.Secrets{Now: key}); err != nil {
			return asked{}, &api.Error{Kind: api.Usage, Public: "This secret cannot be used: " + reasonOf(err) + ".", Hint: "Nothing was sent.", Err: err}
		}
	}
	if r.dryRun {
		return asked{send: func(context.Context) error { return r.dryHooks(c, key) }}, nil
	}
	h, err := a.Client.Hooks(ctx)
	if err != nil {
		return asked{}, err
	}
	c.apply(&h, key)
	return asked{typed: a.Context.Name, facts: [][2]string{{"context", a.Context.Name}, {"change", c.words()}}, send: func(ctx context.Context) error {
		if err := a.Client.SetHooks(ctx, h); err != nil {
			return err
		}
		r.say("Set.")
		return r.printHooks(h)
	}}, nil
}

// newHookSecret is the secret from the file, the prompt or standard input. When that
// is empty it is the one that the config names, which our receiver verifies with.
func (r *root) newHookSecret(a *app.App, file string) (secret.Value, error) {
	s, err := r.readSecret(file, "New webhook secret (not shown): ")
	if err != nil {
		return secret.Value{}, err
	}
	if s = strings.TrimSpace(s); s != "" || file != "" {
		return secret.New(s), nil
	}
	named, err := a.HookSecrets(r.env.Getenv)
	if err != nil || named.Now.Empty() {
		return secret.Value{}, usage("no new secret was given, and the config names none")
	}
	r.say("No new secret was given: the one that [webhooks] of the config names is used.")
	return named.Now, nil
}

func reasonOf(err error) string {
	var s *hook.SecretError
	if errors.As(err, &s) {
		return s.Why
	}
	return err.Error()
}

var hookFlags = []string{"url", "enabled", "customers", "operations", "accounts", "counterparties", "secret-file", "new-secret"}

func (c *hookChange) check() error {
	any := false
	for _, name := range hookFlags {
		any = any || c.flags.Changed(name)
	}
	if !any {
		return usage("nothing to set; name at least one of --%s", strings.Join(hookFlags, ", --"))
	}
	if !c.flags.Changed("url") || c.url == "" {
		return nil
	}
	u, err := url.Parse(c.url)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return usage("--url must be an address like https://hooks.example.com/hooks, without user or password")
	case u.Scheme == "https":
		return nil
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "http" || ip == nil || !ip.IsLoopback() {
		return usage("--url must be https; plain http goes to a loopback address only")
	}
	return nil
}

func (c *hookChange) apply(h *api.HookSettings, key secret.Value) {
	if c.flags.Changed("url") {
		h.HookURL = untrusted.Text(c.url)
	}
	for name, f := range map[string]struct{ to, v *bool }{"enabled": {&h.Enabled, &c.enabled}, "customers": {&h.HookCustomer, &c.customer},
		"operations": {&h.HookOperation, &c.operation}, "accounts": {&h.HookDepositAccount, &c.account}, "counterparties": {&h.HookCounterparty, &c.counterparty}} {
		if c.flags.Changed(name) {
			*f.to = *f.v
		}
	}
	if !key.Empty() {
		h.JWTSecret = key
	}
}

// words says what changes, without the secret.
func (c *hookChange) words() string {
	var out []string
	for _, name := range hookFlags[:6] {
		if c.flags.Changed(name) {
			out = append(out, name+" "+c.flags.Lookup(name).Value.String())
		}
	}
	if c.secretFile != "" || c.newSecret {
		out = append(out, "a new secret")
	}
	return strings.Join(out, ", ")
}

// dryHooks prints what would be sent; null is what a real run reads first.
func (r *root) dryHooks(c *hookChange, key secret.Value) error {
	var h api.HookSettings
	c.apply(&h, key)
	b, err := json.Marshal(hookJSON(h))
	if err != nil {
		return fmt.Errorf("hook set: %w", err)
	}
	var params map[string]any
	if err := json.Unmarshal(b, &params); err != nil {
		return fmt.Errorf("hook set: %w", err)
	}
	for field, flag := range map[string]string{"enabled": "enabled", "hookUrl": "url", "hookCustomer": "customers", "hookOperation": "operations",
		"hookDepositAccount": "accounts", "hookCounterparty": "counterparties"} {
		if !c.flags.Changed(flag) {
			params[field] = nil
		}
	}
	if key.Empty() {
		params["jwtSecret"] = nil
	}
	return r.printJSON(map[string]any{"method": "POST", "path": "/v2/hook/set", "body": map[string]any{"parameters": params}})
}
