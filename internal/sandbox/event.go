package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"math/big"
	"time"

	"github.com/google/uuid"
)

// Types of webhooks.
const (
	hookOperation = iota + 1
	hookAccount
	hookClient
	hookCounterparty
	hookRequisite
)

// hookMoney is an amount in a webhook: zeros are left out. Units are a number
// of any length.
type hookMoney struct {
	CurrencyCode string      `json:"currency_code"`
	Units        json.Number `json:"units,omitempty"`
	Nanos        int64       `json:"nanos,omitempty"`
}

type hookAmount struct {
	Sum     hookMoney `json:"sum"`
	Default hookMoney `json:"default"`
}

type hookBalance struct {
	Money   hookMoney `json:"money"`
	Default hookMoney `json:"default"`
}

type hookTime struct {
	Seconds int64 `json:"seconds"`
	Nanos   int64 `json:"nanos,omitempty"`
}

func hookStamp(ns int64) *hookTime { return &hookTime{ns / 1e9, ns % 1e9} }

func (m money) hook() hookMoney {
	h := hookMoney{CurrencyCode: m.currency, Nanos: m.nanos}
	if m.units != "0" {
		h.Units = json.Number(m.units)
	}
	return h
}

// inDollars is m by fixed sample rates, for the "default" amounts.
func (m money) inDollars() money {
	perMille := map[string]int64{"USD": 1000, "EUR": 1080, "GBP": 1260, "JPY": 7, "KWD": 3250, "CAD": 740, "INR": 12, "BTC": 60_000_000}[m.currency]
	units, fine := new(big.Int).SetString(m.units, 10)
	if !fine {
		return money{currency: "USD", units: "0"}
	}
	billion := big.NewInt(1_000_000_000)
	total := units.Mul(units, billion)
	total.Add(total, big.NewInt(m.nanos)).Mul(total, big.NewInt(perMille)).Quo(total, big.NewInt(1000))
	cents := big.NewInt(10_000_000)
	total.Quo(total, cents).Mul(total, cents)
	rest := new(big.Int)
	total.QuoRem(total, billion, rest)
	return money{currency: "USD", units: total.String(), nanos: rest.Int64()}
}

func (m money) amount() hookAmount { return hookAmount{m.hook(), m.inDollars().hook()} }

func (m money) held() hookBalance { return hookBalance{m.hook(), m.inDollars().hook()} }

// raise puts an event into the outbox when the settings ask for it.
func (s *Service) raise(ctx context.Context, tx *sql.Tx, st settings, hookType int, name string, object any, at time.Time) error {
	if !st.Hook.wants(hookType) {
		return nil
	}
	id := uuid.NewString()
	body := encode(struct {
		HookID   string         `json:"hook_id"`
		HookType int            `json:"hook_type"`
		Data     map[string]any `json:"Data"`
	}{id, hookType, map[string]any{name: object}})
	_, err := tx.ExecContext(ctx, `INSERT INTO outbox(hook_id, hook_type, body, created, next) VALUES(?, ?, ?, ?, ?)`, id, hookType, string(body), at.UnixNano(), at.UnixNano())
	if err == nil {
		s.poke()
	}
	return err
}

type hookSide struct {
	Account    string `json:"account,omitempty"`
	Beneficiar string `json:"beneficiar,omitempty"`
}

func (s *Service) raiseOperation(ctx context.Context, tx *sql.Tx, st settings, o operationRow, at time.Time) error {
	a := o.amounts(st.Seed)
	source, destination := hookSide{Account: o.account.id}, hookSide{Account: o.second.id, Beneficiar: o.targetID.String}
	if o.typ == typeDeposit {
		source, destination = destination, source
	}
	return s.raise(ctx, tx, st, hookOperation, "Operation", struct {
		Cuid        string     `json:"cuid"`
		Opid        string     `json:"opid"`
		Type        int        `json:"type,omitempty"`
		Status      int        `json:"status,omitempty"`
		PaymentType int        `json:"payment_type,omitempty"`
		IsVisible   bool       `json:"is_visible,omitempty"`
		CreatedAt   *hookTime  `json:"created_at"`
		UpdatedAt   *hookTime  `json:"updated_at"`
		Source      hookSide   `json:"source"`
		Destination hookSide   `json:"destination"`
		SourceSum   hookAmount `json:"source_amount"`
		DestSum     hookAmount `json:"destination_amount"`
		Commission  hookAmount `json:"commission_amount"`
		Balance     hookAmount `json:"current_balance_amount"`
	}{o.cuid, o.opid(st.Seed), o.typ, o.status, o.pay, o.flags&flagVisible != 0, hookStamp(o.created), hookStamp(o.updated), source, destination,
		a.source.amount(), a.destination.amount(), a.commission.amount(), a.balance.amount()}, at)
}

func (s *Service) raiseCustomer(ctx context.Context, tx *sql.Tx, st settings, c customerRow, at time.Time) error {
	var onboarded *hookTime
	if c.onboarded != 0 {
		onboarded = &hookTime{Seconds: c.onboarded / 1e9}
	}
	name := c.name
	if c.kind == "CORPORATE" {
		name = c.company
	}
	return s.raise(ctx, tx, st, hookClient, "Client", struct {
		Cuid       string    `json:"cuid"`
		Status     int       `json:"status,omitempty"`
		CreateAt   hookTime  `json:"create_at"`
		UpdateAt   hookTime  `json:"update_at"`
		Onboarding *hookTime `json:"onboarding_at,omitempty"`
		Name       string    `json:"name"`
		Lastname   string    `json:"lastname,omitempty"`
	}{c.cuid, c.status, hookTime{Seconds: c.created / 1e9}, hookTime{Seconds: c.updated / 1e9}, onboarded, name, c.lastname}, at)
}

func (s *Service) raiseAccount(ctx context.Context, tx *sql.Tx, st settings, a accountRow, hookType int, at time.Time) error {
	return s.raise(ctx, tx, st, hookType, "Account", struct {
		Cuid       string          `json:"cuid"`
		Suid       string          `json:"suid"`
		Name       string          `json:"name"`
		Currency   string          `json:"currency_iso"`
		IsDefault  bool            `json:"is_default,omitempty"`
		Number     string          `json:"number,omitempty"`
		Status     int             `json:"status,omitempty"`
		Balance    hookBalance     `json:"balance"`
		Hold       hookBalance     `json:"hold"`
		Requisites json.RawMessage `json:"requisites"`
	}{a.cuid, a.id, a.name, a.currency, a.isDefault, a.number, a.status, a.balance.held(), a.hold.held(),
		json.RawMessage(a.requisites)}, at)
}

func (s *Service) raiseCounterparty(ctx context.Context, tx *sql.Tx, st settings, p counterpartyRow, at time.Time) error {
	rows, err := queryCPAccounts(ctx, tx, ` WHERE p.suid = ? ORDER BY k.n`, p.suid)
	if err != nil {
		return err
	}
	type account struct {
		Suid     string `json:"suid"`
		Currency string `json:"currency_iso"`
		Status   int    `json:"status,omitempty"`
	}
	accounts := make([]account, len(rows))
	for i, r := range rows {
		accounts[i] = account{r.id, r.currency, r.status}
	}
	return s.raise(ctx, tx, st, hookCounterparty, "Counterparty", struct {
		Suid        string    `json:"suid"`
		Cuid        string    `json:"cuid"`
		Description string    `json:"description"`
		Accounts    []account `json:"accounts"`
	}{p.suid, p.cuid, p.description, accounts}, at)
}
