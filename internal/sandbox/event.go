package sandbox

import (
	"database/sql"
	"encoding/json"
	"hash/fnv"
	"math/big"

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

func hookStamp(ns int64) object { return object{"seconds", ns / 1e9, "nanos,omitempty", ns % 1e9} }

// hook is an amount in a webhook: zeros are omitted. Units are a number of any length.
func (m money) hook() object {
	units := json.Number(m.units)
	if m.units == "0" {
		units = ""
	}
	return object{"currency_code", m.currency, "units,omitempty", units, "nanos,omitempty", m.nanos}
}

// inDollars converts m with fixed sample rates, for the "default" amounts.
func (m money) inDollars() money {
	perMille := dollarsPerMille[m.currency]
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

func (m money) amount() object { return object{"sum", m.hook(), "default", m.inDollars().hook()} }

func (m money) held() object { return object{"money", m.hook(), "default", m.inDollars().hook()} }

// raise puts an event into the outbox if the settings request it.
func raise(c *call, tx *sql.Tx, hookType int, name string, data object) error {
	if !c.st.Hook.wants(hookType) {
		return nil
	}
	id := uuid.NewString()
	body := encode(object{"hook_id", id, "hook_type", hookType, "Data", object{name, data}})
	err := execute(c.ctx, tx, `INSERT INTO outbox(hook_id, hook_type, body, created, next) VALUES(?, ?, ?, ?, ?)`,
		id, hookType, string(body), c.at.UnixNano(), c.at.UnixNano())
	if err == nil {
		c.notifyDeliverer()
	}
	return err
}

// codeShown is the code of the word that a read shows: a word outside the documented list always has the same code
// above them.
func codeShown(names []string, word string) int {
	if code := codeOf(names, word); code >= 0 {
		return code
	}
	h := fnv.New32a()
	h.Write([]byte(word))
	return 100 + int(h.Sum32()%900)
}

func (a *amountJSON) hook() object {
	if a == nil {
		return nil
	}
	return a.Sum.money().amount()
}

// raiseOperation sends what a read of o shows.
func raiseOperation(c *call, tx *sql.Tx, o operationRow) error {
	var shown operationJSON
	if err := decode(o.render(c.st.dataset(), nil), &shown); err != nil {
		return err
	}
	source := object{"account,omitempty", o.account.id}
	destination := object{"account,omitempty", o.second.id, "beneficiar,omitempty", o.targetID.String}
	if o.typ == typeDeposit {
		source, destination = destination, source
	}
	return raise(c, tx, hookOperation, "Operation", object{"cuid", o.cuid, "opid", shown.Opid,
		"type,omitempty", codeShown(operationTypes, shown.Type),
		"status,omitempty", codeShown(operationStatuses, shown.Status),
		"payment_type,omitempty", codeShown(paymentTypes, shown.PaymentType), "is_visible,omitempty", shown.IsVisible,
		"created_at", hookStamp(o.created), "updated_at", hookStamp(o.updated), "source", source, "destination", destination,
		"source_amount,omitempty", shown.SourceSum.hook(), "destination_amount,omitempty", shown.DestSum.hook(),
		"commission_amount,omitempty", shown.Commission.hook(), "current_balance_amount,omitempty", shown.Balance.hook()})
}

func raiseCustomer(c *call, tx *sql.Tx, row customerRow) error {
	seconds := func(ns int64) object { return object{"seconds", ns / 1e9} }
	var onboarded object
	if row.onboarded != 0 {
		onboarded = seconds(row.onboarded)
	}
	name := row.name
	if row.kind == "CORPORATE" {
		name = row.company
	}
	return raise(c, tx, hookClient, "Client", object{"cuid", row.cuid, "status,omitempty", row.status, "create_at",
		seconds(row.created),
		"update_at", seconds(row.updated), "onboarding_at,omitempty", onboarded, "name", name, "lastname,omitempty",
		row.lastname})
}

func raiseAccount(c *call, tx *sql.Tx, a accountRow, hookType int) error {
	return raise(c, tx, hookType, "Account", object{"cuid", a.cuid, "suid", a.id, "name", a.name, "currency_iso",
		a.currency,
		"is_default,omitempty", a.isDefault, "number,omitempty", a.number, "status,omitempty", a.status,
		"balance", a.balance.held(), "hold", a.hold.held(), "requisites", json.RawMessage(a.requisites)})
}

func raiseCounterparty(c *call, tx *sql.Tx, p counterpartyRow) error {
	accounts := make([]object, len(p.accounts))
	for i, a := range p.accounts {
		accounts[i] = object{"suid", a.id, "currency_iso", a.currency, "status,omitempty", a.status}
	}
	return raise(c, tx, hookCounterparty, "Counterparty",
		object{"suid", p.suid, "cuid", p.cuid, "description", p.description, "accounts", accounts})
}
