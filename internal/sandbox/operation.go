package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
)

// operationRow is an operation as stored, with what it refers to.
type operationRow struct {
	n                        int64
	status, typ, pay, flags  int
	parent                   sql.NullInt64
	customer                 int64
	created, updated         int64
	extra                    sql.NullString
	cuid, customerName       string
	account                  accountRef
	account2                 sql.NullInt64
	second                   accountRef
	target                   sql.NullInt64
	targetID, targetName     sql.NullString
	targetNumber, targetCoin sql.NullString
	suid, payee, bank        sql.NullString
}

type accountRef struct {
	n                          int64
	id, name, number, currency string
}

const operationSelect = `SELECT o.n, o.status, o.type, o.pay, o.flags, o.parent, o.customer, o.created, o.updated,
	o.extra,
 c.cuid, c.display, a.n, a.id, a.name, a.number, a.currency,
 o.account2, ifnull(b.id,''), ifnull(b.name,''), ifnull(b.number,''), ifnull(b.currency,''),
 o.cpaccount, k.id, k.name, k.number, k.currency, p.suid, p.name, p.bank
 FROM operation o JOIN customer c ON c.n = o.customer JOIN account a ON a.n = o.account LEFT JOIN account b ON b.n =
 o.account2
 LEFT JOIN cpaccount k ON k.n = o.cpaccount LEFT JOIN counterparty p ON p.n = k.counterparty `

func queryOperations(ctx context.Context, q querier, tail string, args ...any) ([]operationRow, error) {
	return query(ctx, q, (*operationRow).columns, operationSelect+tail, args...)
}

func (o *operationRow) columns() []any {
	return []any{&o.n, &o.status, &o.typ, &o.pay, &o.flags, &o.parent, &o.customer, &o.created, &o.updated, &o.extra,
		&o.cuid, &o.customerName, &o.account.n, &o.account.id, &o.account.name, &o.account.number, &o.account.currency,
		&o.account2, &o.second.id, &o.second.name, &o.second.number, &o.second.currency,
		&o.target, &o.targetID, &o.targetName, &o.targetNumber, &o.targetCoin, &o.suid, &o.payee, &o.bank}
}

func (o *operationRow) opid(seed uint64) string { return opidOf(seed, o.n).String() }

func findOperation(c *call, q querier, opid string) (operationRow, error) {
	id, valid := parseGUID(opid)
	n, known := numberOf(c.st.Seed, id)
	if !valid || !known {
		return operationRow{}, notFound("Operation", opid)
	}
	rows, err := queryOperations(c.ctx, q, `WHERE o.n = ?`, n)
	return only(rows, err, "Operation", opid)
}

// The REST shape of an operation.
type operationJSON struct {
	Opid        string         `json:"opid"`
	IsVisible   bool           `json:"isVisible"`
	Status      string         `json:"status"`
	Type        string         `json:"type"`
	PaymentType string         `json:"paymentType"`
	CreatedAt   string         `json:"createdAt"`
	UpdatedAt   string         `json:"updatedAt"`
	Source      *sideJSON      `json:"source"`
	Destination *sideJSON      `json:"destination"`
	SourceSum   *amountJSON    `json:"sourceAmount"`
	DestSum     *amountJSON    `json:"destinationAmount"`
	Commission  *amountJSON    `json:"commissionAmount"`
	Balance     *amountJSON    `json:"currentBalanceAmount"`
	Comment     string         `json:"comment"`
	IsParent    bool           `json:"isParent"`
	Reference   string         `json:"reference"`
	Customer    customerRef    `json:"customer"`
	Documents   []documentJSON `json:"documents"`
}

type customerRef struct {
	Cuid string `json:"cuid"`
	Name string `json:"name"`
}

type sideJSON struct {
	Account             *sideAccount      `json:"account,omitempty"`
	CounterpartyAccount *sideCounterparty `json:"counterpartyAccount,omitempty"`
}

type sideAccount struct {
	ID       string      `json:"id"`
	Name     string      `json:"name"`
	Number   string      `json:"number"`
	Customer customerRef `json:"customer"`
}

type sideCounterparty struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Number       string          `json:"number"`
	Counterparty counterpartyRef `json:"counterparty"`
}

type counterpartyRef struct {
	Suid     string `json:"suid"`
	Name     string `json:"name"`
	BankName string `json:"bankName"`
}

type documentJSON struct {
	GUID     string `json:"guid"`
	FileName string `json:"fileName"`
	Size     int64  `json:"size"`
	Mime     string `json:"mime"`
	DocType  string `json:"docType"`
	Info     string `json:"info"`
	IsLock   bool   `json:"isLock"`
	CreateAt string `json:"createAt"`
}

var comments = []string{"", "Payment for services", "Invoice settlement", "Salary", "Lieferung vom März", "Возврат",
	"ご請求分", "Refund of deposit", "Monthly rent"}

// amounts of o in the currencies of its two sides.
func (o *operationRow) amounts(data dataset) operationAmounts {
	from, to := o.account.currency, o.account.currency
	if o.account2.Valid {
		to = o.second.currency
	}
	n := o.n
	if o.parent.Valid {
		n = o.parent.Int64
	}
	if !data.odd {
		return ordinaryAmounts(data.seed, int(n), from, to)
	}
	return drawAmounts(data.seed, int(n), from, to)
}

// sides are source and destination: money of a DEPOSIT comes from the
// counterparty, of every other type from the account.
func (o *operationRow) sides() (source, destination *sideJSON) {
	owner := customerRef{o.cuid, o.customerName}
	own := &sideJSON{Account: &sideAccount{o.account.id, o.account.name, o.account.number, owner}}
	var other *sideJSON
	switch {
	case o.account2.Valid:
		other = &sideJSON{Account: &sideAccount{o.second.id, o.second.name, o.second.number, owner}}
	case o.target.Valid:
		other = &sideJSON{CounterpartyAccount: &sideCounterparty{o.targetID.String, o.targetName.String,
			o.targetNumber.String,
			counterpartyRef{o.suid.String, o.payee.String, o.bank.String}}}
	}
	if o.typ == typeDeposit {
		return other, own
	}
	return own, other
}

// render gives the REST shape; with documents nil it shows an empty list.
func (o *operationRow) render(data dataset, documents []documentJSON) json.RawMessage {
	a := o.amounts(data)
	d := newDice(data.seed, saltAmount, int(o.n)+1<<42)
	if documents == nil {
		documents = []documentJSON{}
	}
	v := operationJSON{
		Opid: o.opid(data.seed), IsVisible: o.flags&flagVisible != 0,
		Status: nameOf(operationStatuses, o.status), Type: nameOf(operationTypes, o.typ),
		PaymentType: nameOf(paymentTypes, o.pay),
		CreatedAt:   stamp(o.created), UpdatedAt: stamp(o.updated),
		SourceSum: a.source.rest(), DestSum: a.destination.rest(), Commission: a.commission.rest(), Balance: a.balance.rest(),
		Comment: pick(&d, comments), IsParent: o.flags&flagParent != 0, Reference: fmt.Sprintf("SBX-%s", d.digits(8)),
		Customer: customerRef{o.cuid, o.customerName}, Documents: documents,
	}
	v.Source, v.Destination = o.sides()
	raw := encode(v)
	if o.extra.Valid {
		raw = mergePatch(raw, []byte(o.extra.String))
	}
	return raw
}

// documentsOf returns the attached documents by operation.
func documentsOf(ctx context.Context, q querier, ops []operationRow) (map[int64][]documentJSON, error) {
	found := map[int64][]documentJSON{}
	if len(ops) == 0 {
		return found, nil
	}
	args := make([]any, len(ops))
	for i := range ops {
		args[i] = ops[i].n
	}
	rows, err := query(ctx, q, (*attachedRow).columns, `SELECT l.op, l.name, f.guid, f.name, f.size, f.mime, f.kind,
		f.info, f.locked, f.created
		FROM link l JOIN file f ON f.n = l.file WHERE l.op IN (`+marks(len(args))+`) ORDER BY l.op, l.file`, args...)
	for _, d := range rows {
		if d.shown != "" {
			d.FileName = d.shown
		}
		d.GUID, d.CreateAt = d.guid.String(), stamp(d.created)
		found[d.op] = append(found[d.op], d.documentJSON)
	}
	return found, err
}

// attachedRow is a document with the operation it is attached to.
type attachedRow struct {
	op, created int64
	shown       string // the name it was given there
	guid        uuid.UUID
	documentJSON
}

func (d *attachedRow) columns() []any {
	return []any{&d.op, &d.shown, &d.guid, &d.FileName, &d.Size, &d.Mime, &d.DocType, &d.Info, &d.IsLock, &d.created}
}

// renderAll gives the REST shapes of ops with their documents.
func renderAll(ctx context.Context, q querier, data dataset, ops []operationRow) ([]json.RawMessage, error) {
	docs, err := documentsOf(ctx, q, ops)
	if err != nil {
		return nil, err
	}
	list := make([]json.RawMessage, len(ops))
	for i := range ops {
		list[i] = ops[i].render(data, docs[ops[i].n])
	}
	return list, nil
}
