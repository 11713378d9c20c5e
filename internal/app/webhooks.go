package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
)

// Hooks are the webhooks of one context: the receiver, the inbox, and the merging into the index.
type Hooks struct{ app *App }

func (a *App) Hooks() Hooks { return Hooks{a} }

// Inbox is the inbox of this account's webhooks, which all processes on the store share.
func (h Hooks) Inbox() *inbox.Inbox { return h.app.inboxIn(h.app.Store) }

func (a *App) inboxIn(s *store.Store) *inbox.Inbox {
	key := a.Session.Key()
	return inbox.New(s.Bulk, key.BaseURL, key.Account)
}

// rules are the ways to authenticate a delivery that [webhooks] allows.
func (h Hooks) rules() hook.Rules {
	w := h.app.Config.Webhooks
	r := hook.Rules{Algorithms: w.Algorithms, MaxAge: w.MaxAge.D()}
	if r.MaxAge == 0 {
		r.MaxAge = -1 // no limit
	}
	return r
}

// Meanings are the meanings of event codes learnt by all processes.
func (h Hooks) Meanings(ctx context.Context) (hook.Meanings, error) {
	return hook.LoadMeanings(ctx, h.Inbox())
}

// Secrets reads the secret of [webhooks] from its configured source.
func (h Hooks) Secrets(env func(string) string) (hook.Secrets, error) {
	w := h.app.Config.Webhooks
	switch {
	case w.Verify == hook.VerifyNone:
		return hook.Secrets{}, nil
	case w.SecretEnv != "" && env(w.SecretEnv) == "":
		return hook.Secrets{},
			hookConfig(fmt.Sprintf("The environment variable %s (webhooks.secret_env) is empty or not set.", w.SecretEnv), nil)
	case w.SecretEnv != "":
		return hook.ParseSecrets(env(w.SecretEnv)), nil
	case w.SecretFile != "":
		v, err := config.SecretFile(w.SecretFile)
		if err != nil {
			return hook.Secrets{}, hookConfig("webhooks.secret_file: "+err.Error()+".", err)
		}
		return hook.ParseSecrets(v.Reveal()), nil
	}
	return hook.Secrets{}, hookConfig("[webhooks] has no secret.", nil)
}

func hookConfig(what string, err error) error {
	return &api.Error{Kind: api.BadConfig, Public: what,
		Remedy: api.Remedy{Kind: api.FixSettings, ID: "[webhooks]", Names: []string{"secret_env", "secret_file"}}, Err: err}
}

// Receiver returns the configured webhook receiver; without network it verifies nothing, and only Replay works. The
// caller closes it.
func (h Hooks) Receiver(env func(string) string, network bool) (*receiver.Receiver, error) {
	w := h.app.Config.Webhooks
	opt := receiver.Options{Inbox: h.Inbox(), Rejects: h.Inbox(), Header: w.Header, Path: w.Path, Log: h.app.Log,
		Now: h.app.Now}
	if network {
		secrets, err := h.Secrets(env)
		if err != nil {
			return nil, err
		}
		if opt.Verifier, err = h.rules().Verifier(w.Verify, w.Header, secrets); err != nil {
			return nil, hookConfig("The webhook secret cannot be used: "+err.Error()+".", err)
		}
		if w.BehindProxy { // the proxy is on this host
			opt.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		}
	}
	rec, err := receiver.New(opt)
	if err != nil {
		return nil, &api.Error{Kind: api.Internal, Public: "The receiver cannot be started: " + err.Error(), Err: err}
	}
	return rec, nil
}

// Server opens the configured port for rec.
func (h Hooks) Server(ctx context.Context, rec *receiver.Receiver) (*receiver.Server, error) {
	w := h.app.Config.Webhooks
	opt := receiver.ServerOptions{Listen: w.Listen}
	if w.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(w.TLSCert, w.TLSKey)
		if err != nil {
			return nil, &api.Error{Kind: api.BadConfig, Public: "The certificate of [webhooks] cannot be used.",
				Remedy: api.Remedy{Kind: api.FixSettings, ID: "[webhooks]", Names: []string{"tls_cert", "tls_key"}}, Err: err}
		}
		opt.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	}
	srv, err := receiver.Listen(ctx, rec, opt)
	if err != nil {
		kind := api.BadConfig
		if errors.As(err, new(*os.SyscallError)) {
			kind = api.Unavailable
		}
		return nil, &api.Error{Kind: kind, Public: "Webhooks cannot be received: " + err.Error() + ".", Err: err}
	}
	return srv, nil
}

// take merges a stored event into the index. It is a fact only if its authentication covers its body; else it is a
// hint to read the operation again. Events of other objects, and unusable ones, change nothing.
func (h Hooks) take(ctx context.Context, s receiver.Stored, l hook.Meanings) error {
	if s.Object != hook.ObjectOperation || s.Status == receiver.Quarantined || s.Status == receiver.Conflict {
		return nil
	}
	e, err := hook.Decode(s.Raw)
	if err != nil {
		return err
	}
	if s.Verdict.Authenticated && s.Verdict.Bound {
		_, err := h.app.Index.Event(ctx, indexEvent(e, s.ReceivedAt, l))
		return err
	}
	return h.app.Index.Owe(ctx, string(e.ObjectID))
}

// indexEvent converts an event for the index. It sets words only for codes without contradicting evidence.
func indexEvent(e hook.Envelope, seen time.Time, l hook.Meanings) index.Event {
	word := func(f hook.Field, c hook.Code) string {
		w, evidence, against := l.Meaning(f, c.Value)
		if !c.Given || evidence == 0 || against > 0 {
			return ""
		}
		return string(w)
	}
	out := index.Event{OPID: string(e.ObjectID), CUID: string(e.CUID), Seen: seen,
		Status: word(hook.FieldStatus, e.Status), Type: word(hook.FieldType, e.OperationType),
		PaymentType: word(hook.FieldPaymentType, e.PaymentType)}
	if o := e.Operation; o != nil {
		out.From, out.To = sideOf(o.Source), sideOf(o.Destination)
	}
	out.Created, _ = e.CreatedAt.Time()
	out.Updated, _ = e.UpdatedAt.Time()
	if e.IsVisible != hook.NotGiven {
		v := e.IsVisible == hook.Yes
		out.Visible = &v
	}
	for to, amount := range map[**api.Money]api.Amount{&out.Source: e.SourceAmount, &out.Destination: e.DestinationAmount,
		&out.Commission: e.CommissionAmount, &out.Balance: e.CurrentBalanceAmount} {
		if !amount.Sum.Empty() {
			*to = &amount.Sum
		}
	}
	return out
}

// sideOf is one side as an operation has it, with its identifier only.
func sideOf(s hook.Side) (p api.Party) {
	if s.Account != "" {
		p.Account = &api.PartyAccount{ID: s.Account}
	}
	if s.Beneficiar != "" {
		p.CounterpartyAccount = &api.CounterpartyAccount{ID: s.Beneficiar}
	}
	return p
}

// Learn stores what a read of an operation, sent at sent, shows about the codes of its events. Errors are only
// logged.
func (h Hooks) Learn(ctx context.Context, op api.Operation, sent time.Time) {
	if _, err := receiver.Learn(ctx, h.Inbox(), h.Inbox(), op, sent); err != nil {
		h.app.Log.Warn("codes", "opid", untrusted.Text(op.OPID).Line(64), "err", err)
	}
}
