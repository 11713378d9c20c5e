package app

import (
	"testing"

	"opdeck/internal/app/config"
	"opdeck/internal/domain/approval"
)

// A remote person gets the configured secrets, and doctor finds them; nothing else of the server's environment is
// there.
func TestSecretEnv(t *testing.T) {
	server := func(name string) string { return "server's " + name }
	a := &App{Context: config.Context{Name: "a", BaseURL: "http://127.0.0.1:1", Login: "m", PasswordEnv: "PW"}}
	a.Config.Contexts = map[string]config.Context{"a": a.Context}
	a.Config.Webhooks.SecretEnv = "HOOK"
	for _, c := range []struct {
		rest func(string) string
		want map[string]string
	}{
		{nil, map[string]string{"PW": "server's PW", "HOOK": "server's HOOK", "PATH": "", "OTHER": "", "": ""}},
		{func(name string) string { return "client's " + name }, map[string]string{"PW": "server's PW", "HOOK": "server's HOOK", "TERM": "client's TERM"}},
	} {
		env := a.SecretEnv(server, c.rest)
		for name, want := range c.want {
			if got := env(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	for _, c := range []struct {
		env  func(string) string
		want Health
	}{{a.SecretEnv(server, nil), Healthy}, {func(string) string { return "" }, Failed}} {
		got := Health("")
		d := &doctor{opt: Options{Getenv: c.env}.filled(), report: func(f Finding) { got = f.Health }}
		if d.password(t.Context(), a.Context); got != c.want {
			t.Errorf("doctor: %s, want %s", got, c.want)
		}
	}
	if who := a.LocalActor("command"); who.UID == "" || who.Name == "" || who.Claim() == "" || who.Key != "" {
		t.Errorf("the local person is %+v", who)
	}
	if _, err := a.localRole(approval.Person{Key: "SHA256:x", Login: "ana"}); err == nil {
		t.Error("a person over SSH is judged without a server")
	}
}
