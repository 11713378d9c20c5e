package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// hookParameters are the webhook settings, as the service writes them.
type hookParameters struct {
	Enabled      bool   `json:"enabled"`
	URL          string `json:"hookUrl"`
	JWTSecret    string `json:"jwtSecret"`
	Customer     bool   `json:"hookCustomer"`
	Operation    bool   `json:"hookOperation"`
	Account      bool   `json:"hookDepositAccount"`
	Counterparty bool   `json:"hookCounterparty"`
}

// wants reports whether events of a hook type are delivered.
func (h hookParameters) wants(hookType int) bool {
	if !h.Enabled || h.URL == "" {
		return false
	}
	switch hookType {
	case hookOperation:
		return h.Operation
	case hookAccount, hookRequisite:
		return h.Account
	case hookClient:
		return h.Customer
	case hookCounterparty:
		return h.Counterparty
	}
	return false
}

// getHook: GET /v2/hook/get; flat.
func getHook(c *call) (any, error) { return c.st.Hook, nil }

type hookIn struct{ Parameters json.RawMessage }

// setHook: POST /v2/hook/set. All parameters are required.
func setHook(c *call, in hookIn) (any, error) {
	var given map[string]any
	var hook hookParameters
	if json.Unmarshal(in.Parameters, &given) != nil || json.Unmarshal(in.Parameters, &hook) != nil {
		given = nil
	}
	for _, name := range []string{"enabled", "hookUrl", "jwtSecret", "hookCustomer", "hookOperation", "hookDepositAccount",
		"hookCounterparty"} {
		if given[name] == nil {
			return nil, refuse(http.StatusBadRequest, "parameters need enabled, hookUrl, jwtSecret, hookCustomer, "+
				"hookOperation, hookDepositAccount and hookCounterparty")
		}
	}
	if u, err := url.Parse(hook.URL); hook.Enabled && (err != nil || u.Host == "" ||
		u.Scheme != "http" && u.Scheme != "https") {
		return nil, refuse(http.StatusBadRequest, "hookUrl must be an http or https address")
	}
	defer c.notifyDeliverer()
	return action(true, "Hook parameters saved"), c.change(c.ctx, func(c *call, tx *sql.Tx) error {
		c.st.Hook = hook
		return storeSettings(c.ctx, tx, c.st)
	})
}

// Types of webhooks.
const (
	hookOperation = iota + 1
	hookAccount
	hookClient
	hookCounterparty
	hookRequisite
)

func hookStamp(ns int64) patch { return patch{"seconds": ns / 1e9, "nanos": ns % 1e9} }

// hook is an amount in a webhook, whose units are a number of any length.
func (m money) hook() patch {
	units := json.Number(m.Units)
	if m.Units == "0" {
		units = ""
	}
	return patch{"currency_code": m.Currency, "units": units, "nanos": m.Nanos}
}

// withoutZeros removes members that are zero from an object and the objects in it, as webhooks have them.
func withoutZeros(p patch) patch {
	for name, v := range p {
		switch v := v.(type) {
		case patch:
			withoutZeros(v)
		case []patch:
			for _, inner := range v {
				withoutZeros(inner)
			}
		case nil, int, int64, string, bool, json.Number:
			if v == nil || reflect.ValueOf(v).IsZero() {
				delete(p, name)
			}
		}
	}
	return p
}

// inDollars converts m with fixed sample rates, for the "default" amounts.
func (m money) inDollars() money {
	perMille := dollarsPerMille[m.Currency]
	units, fine := new(big.Int).SetString(m.Units, 10)
	if !fine {
		return money{"USD", "0", 0}
	}
	billion := big.NewInt(1_000_000_000)
	total := units.Mul(units, billion)
	total.Add(total, big.NewInt(m.Nanos)).Mul(total, big.NewInt(perMille)).Quo(total, big.NewInt(1000))
	cents := big.NewInt(10_000_000)
	total.Quo(total, cents).Mul(total, cents)
	rest := new(big.Int)
	total.QuoRem(total, billion, rest)
	return money{"USD", total.String(), rest.Int64()}
}

func (m money) amount() patch { return patch{"sum": m.hook(), "default": m.inDollars().hook()} }

func (m money) held() patch { return patch{"money": m.hook(), "default": m.inDollars().hook()} }

// raise puts an event into the outbox if the settings request it.
func raise(c *call, tx *sql.Tx, hookType int, name string, data patch) error {
	if !c.st.Hook.wants(hookType) {
		return nil
	}
	id := uuid.NewString()
	body := encode(patch{"hook_id": id, "hook_type": hookType, "Data": patch{name: withoutZeros(data)}})
	err := execute(c.ctx, tx, `INSERT INTO outbox(hook_id, hook_type, body, created, next) VALUES(?, ?, ?, ?, ?)`,
		id, hookType, string(body), c.at.UnixNano(), c.at.UnixNano())
	if err == nil {
		c.notifyDeliverer()
	}
	return err
}

// raiseOperation sends what a read of o shows.
func raiseOperation(c *call, tx *sql.Tx, o operationRow) error {
	a := o.amounts(c.st.Seed)
	source, destination := patch{"account": o.account.ID}, patch{}
	if o.second != nil {
		destination["account"] = o.second.ID
	}
	if payee := o.payeeAccount(); payee != nil {
		destination["beneficiar"] = payee.AccountID
	}
	if o.typ == typeDeposit {
		source, destination = destination, source
	}
	return raise(c, tx, hookOperation, "Operation", patch{"cuid": o.customer.Cuid, "opid": o.opid(c.st.Seed),
		"type": o.typ, "status": o.status, "payment_type": o.pay, "is_visible": o.flags&flagVisible != 0,
		"created_at": hookStamp(o.created), "updated_at": hookStamp(o.updated), "source": source, "destination": destination,
		"source_amount": a.source.amount(), "destination_amount": a.destination.amount(),
		"commission_amount": a.commission.amount(), "current_balance_amount": a.balance.amount()})
}

func raiseCustomer(c *call, tx *sql.Tx, v customer) error {
	data := patch{"cuid": v.Cuid, "status": codeOf(customerStatuses, v.Status), "lastname": v.Lastname,
		"name": cmp.Or(v.Company, v.Name), "create_at": patch{"seconds": v.CreatedAt.Unix()},
		"update_at": patch{"seconds": v.UpdatedAt.Unix()}}
	if v.OnboardingAt != nil {
		data["onboarding_at"] = patch{"seconds": v.OnboardingAt.Unix()}
	}
	return raise(c, tx, hookClient, "Client", data)
}

func raiseAccount(c *call, tx *sql.Tx, a account, hookType int) error {
	owners, err := records[customer](c.ctx, tx, kindCustomer)
	if err != nil {
		return err
	}
	return raise(c, tx, hookType, "Account", patch{"cuid": owners[a.Customer].Cuid, "suid": a.ID, "name": a.Name,
		"currency_iso": a.CurrencyCode, "is_default": a.IsDefault, "number": a.Number,
		"status": codeOf(accountStatuses, a.Status), "balance": a.Balance.Sum.held(), "hold": a.Hold.Sum.held(),
		"requisites": a.Requisites})
}

func raiseCounterparty(c *call, tx *sql.Tx, p counterparty) error {
	owners, err := records[customer](c.ctx, tx, kindCustomer)
	if err != nil {
		return err
	}
	accounts := make([]patch, len(p.Accounts))
	for i, a := range p.Accounts {
		accounts[i] = patch{"suid": a.AccountID, "currency_iso": a.CurrencyCode,
			"status": codeOf(counterpartyStatuses, a.Status)}
	}
	return raise(c, tx, hookCounterparty, "Counterparty", patch{"suid": p.CounterpartyID,
		"cuid": owners[p.Customer].Cuid, "description": p.Description, "accounts": accounts})
}

// Names by numeric code, as in webhooks. The codes of operations are an assumption: the position in the documented
// lists.
var (
	operationStatuses = []string{"NOTSET", "PENDING", "PROCESSING", "SUCCESS", "FAILED", "CANCELED", "COMPLETED"}
	operationTypes    = []string{"NOTSET", "DEPOSIT", "TRANSFER", "WITHDRAW", "EXCHANGE"}
	paymentTypes      = []string{"EMPTY", "ACH", "FEDWIRE", "SWIFT", "CRYPTO", "EFT", "SEPA_CT", "IMPS"}

	customerStatuses     = []string{"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "VERIFY"}
	accountStatuses      = []string{"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECTED", "BANNED", "PROCESSING"}
	counterpartyStatuses = []string{"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "PROGRESS"}
)

const (
	statusPending = iota + 1
	statusProcessing
	statusSuccess
	statusFailed
	statusCanceled
	statusCompleted
)

const (
	typeDeposit = iota + 1
	typeTransfer
	typeWithdraw
	typeExchange
)

const (
	payEmpty = iota
	payACH
	payFedwire
	paySwift
	payCrypto
	payEFT
	paySepa
	payIMPS
)

// ended reports whether an operation's documents may no longer be changed.
func ended(status int) bool { return status >= statusSuccess }

// codeOf returns the code of name, or -1.
func codeOf(names []string, name string) int { return slices.Index(names, name) }

const (
	deliveryTimeout = 5 * time.Second
	claimTime       = 3 * deliveryTimeout // no other process sends a claimed event for that long
	longestBackoff  = 5 * time.Minute
	idlePoll        = 2 * time.Second // while webhooks are on: another process may have left events behind
	closeGrace      = time.Second     // for a delivery under way when the service is closed
)

// notifyDeliverer wakes the deliverer of this process.
func (s *store) notifyDeliverer() {
	select {
	case s.raised <- struct{}{}:
	default:
	}
}

// courier delivers what is in the outbox.
type courier struct {
	*store
	inbox atomic.Pointer[http.Client] // reaches the Receiver of this process; nil: there is none
}

type delivery struct {
	id, next int64
	hookID   string
	body     []byte
	attempts int
}

// deliver sends what waits in the outbox until ctx ends.
func (s *courier) deliver(ctx context.Context) {
	// One connection a delivery: the transport cannot send anything twice by itself.
	network := &http.Client{Timeout: deliveryTimeout, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for {
		wait := s.deliverDue(ctx, network)
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.raised:
		case <-timer:
		}
	}
}

// deliverDue delivers what is due and returns how long to sleep; 0: until notified.
func (s *courier) deliverDue(ctx context.Context, network *http.Client) time.Duration {
	for ctx.Err() == nil {
		inProcess := s.inbox.Load()
		st, d, wait, err := s.claim(ctx, inProcess != nil)
		if err != nil {
			return time.Second
		}
		if d == nil {
			return wait
		}
		client := network
		if st.Hook.URL == InProcessHook {
			client = inProcess
		}
		status := post(ctx, client, st, *d, s.clock())
		if err := s.delivered(ctx, st, *d, status); err != nil {
			return time.Second
		}
	}
	return 0
}

// claim reserves the event that has been due longest for this process. If none is
// due, it returns how long to sleep: forever if webhooks are off, or if they go to
// a receiver in another process.
func (s *courier) claim(ctx context.Context, receives bool) (st settings, d *delivery, wait time.Duration, err error) {
	if st, err = loadSettings(ctx, s.db); err != nil || !st.Hook.Enabled || st.Hook.URL == InProcessHook && !receives {
		return st, nil, 0, err
	}
	const waiting = ` FROM outbox WHERE state = 'waiting' ORDER BY next, id LIMIT 1`
	if n, err := count(ctx, s.db, `SELECT count(*) FROM (SELECT 1`+waiting+`)`); err != nil || n == 0 {
		return st, nil, idlePoll, err
	}
	wait = idlePoll
	err = s.write(ctx, func(tx *sql.Tx) error {
		columns := func(d *delivery) []any { return []any{&d.id, &d.hookID, &d.body, &d.attempts, &d.next} }
		found, err := query(ctx, tx, columns, `SELECT id, hook_id, body, attempts, next`+waiting)
		if err != nil || len(found) == 0 {
			return err
		}
		now := s.clock().UnixNano()
		if left := time.Duration(found[0].next - now); left > 0 {
			wait = min(left, idlePoll)
			return nil
		}
		d = &found[0]
		if st, err = loadSettings(ctx, tx); err != nil { // they may have changed since
			return err
		}
		return execute(ctx, tx, `UPDATE outbox SET next = ? WHERE id = ?`, now+int64(claimTime), d.id)
	})
	return st, d, wait, err
}

// post sends one event and returns the status code, or the error in words.
func post(ctx context.Context, client *http.Client, st settings, d delivery, now time.Time) string {
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(closeGrace, cancel) })()
	r, err := http.NewRequestWithContext(call, http.MethodPost, st.Hook.URL, bytes.NewReader(d.body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+signHook(st.Hook.JWTSecret, d, now))
	resp, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	return strconv.Itoa(resp.StatusCode)
}

// signHook is the JWT of a delivery: HS256; iat, exp, jti (the hook_id) and
// body_sha256 (hex) bind it to this body.
func signHook(secret string, d delivery, now time.Time) string {
	sum := sha256.Sum256(d.body)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": d.hookID, "body_sha256": hex.EncodeToString(sum[:]),
	}).SignedString([]byte(secret))
	if err != nil {
		panic(err) // a byte key always signs
	}
	return token
}

// delivered notes the outcome; any 2xx is a success, everything else is
// repeated with growing waits until the attempts are used up.
func (s *courier) delivered(ctx context.Context, st settings, d delivery, status string) error {
	ctx = context.WithoutCancel(ctx) // the receiver has it: this must be noted even while closing
	attempts, state := d.attempts+1, "waiting"
	next := s.clock().Add(backoff(time.Duration(st.HookBackoff), attempts)).UnixNano()
	switch {
	case len(status) == 3 && status[0] == '2':
		state = "delivered"
	case attempts >= st.HookAttempts:
		state = "given up"
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		return execute(ctx, tx, `UPDATE outbox SET attempts = ?, status = ?, state = ?, next = ? WHERE id = ?`, attempts,
			status, state, next, d.id)
	})
}

func backoff(first time.Duration, attempts int) time.Duration {
	d := first
	for range attempts - 1 {
		if d *= 2; d > longestBackoff {
			return longestBackoff
		}
	}
	return d
}
