package sandbox

import (
	"bytes"
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

const operationSelect = `SELECT o.n, o.status, o.type, o.pay, o.flags, o.parent, o.customer, o.created, o.updated, o.extra,
 c.cuid, c.display, a.n, a.id, a.name, a.number, a.currency,
 o.account2, ifnull(b.id,''), ifnull(b.name,''), ifnull(b.number,''), ifnull(b.currency,''),
 o.cpaccount, k.id, k.name, k.number, k.currency, p.suid, p.name, p.bank
 FROM operation o JOIN customer c ON c.n = o.customer JOIN account a ON a.n = o.account LEFT JOIN account b ON b.n = o.account2
 LEFT JOIN cpaccount k ON k.n = o.cpaccount LEFT JOIN counterparty p ON p.n = k.counterparty `

func queryOperations(ctx context.Context, q querier, tail string, args ...any) ([]operationRow, error) {
	rows, err := q.QueryContext(ctx, operationSelect+tail, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []operationRow
	for rows.Next() {
		var o operationRow
		err := rows.Scan(&o.n, &o.status, &o.typ, &o.pay, &o.flags, &o.parent, &o.customer, &o.created, &o.updated, &o.extra,
			&o.cuid, &o.customerName, &o.account.n, &o.account.id, &o.account.name, &o.account.number, &o.account.currency,
			&o.account2, &o.second.id, &o.second.name, &o.second.number, &o.second.currency,
			&o.target, &o.targetID, &o.targetName, &o.targetNumber, &o.targetCoin, &o.suid, &o.payee, &o.bank)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, rows.Err()
}

func (o *operationRow) opid(seed uint64) string { return opidOf(seed, o.n).String() }

// findOperation returns the operation, or found = false.
func findOperation(ctx context.Context, q querier, seed uint64, opid string) (o operationRow, found bool, err error) {
	id, valid := parseGUID(opid)
	if !valid {
		return o, false, nil
	}
	n, known := numberOf(seed, id)
	if !known {
		return o, false, nil
	}
	list, err := queryOperations(ctx, q, `WHERE o.n = ?`, n)
	if err != nil || len(list) == 0 {
		return o, false, err
	}
	return list[0], true, nil
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

var comments = []string{"", "Payment for services", "Invoice settlement", "Salary", "Lieferung vom März", "Возврат", "ご請求分", "Refund of deposit", "Monthly rent"}

// amounts of o in the currencies of its two sides.
func (o *operationRow) amounts(seed uint64) operationAmounts {
	from, to := o.account.currency, o.account.currency
	if o.account2.Valid {
		to = o.second.currency
	}
	n := o.n
	if o.parent.Valid {
		n = o.parent.Int64
	}
	return drawAmounts(seed, int(n), from, to)
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
		other = &sideJSON{CounterpartyAccount: &sideCounterparty{o.targetID.String, o.targetName.String, o.targetNumber.String,
			counterpartyRef{o.suid.String, o.payee.String, o.bank.String}}}
	}
	if o.typ == typeDeposit {
		return other, own
	}
	return own, other
}

// render gives the REST shape; with documents nil it shows an empty list.
func (o *operationRow) render(seed uint64, documents []documentJSON) json.RawMessage {
	a := o.amounts(seed)
	d := newDice(seed, saltAmount, int(o.n)+1<<42)
	if documents == nil {
		documents = []documentJSON{}
	}
	v := operationJSON{
		Opid: o.opid(seed), IsVisible: o.flags&flagVisible != 0,
		Status: nameOf(operationStatuses, o.status), Type: nameOf(operationTypes, o.typ), PaymentType: nameOf(paymentTypes, o.pay),
		CreatedAt: stamp(o.created), UpdatedAt: stamp(o.updated),
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

// encode writes JSON without the HTML escapes of encoding/json.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// mergePatch applies p to the object in raw (RFC 7396, but null stays null, so
// that a field can be shown as null). Numbers keep their digits.
func mergePatch(raw, p []byte) json.RawMessage {
	var base, over map[string]any
	if decode(raw, &base) != nil || decode(p, &over) != nil {
		return raw
	}
	merge(base, over)
	return encode(base)
}

func merge(base, over map[string]any) {
	for k, v := range over {
		inner, ok := v.(map[string]any)
		if under, has := base[k].(map[string]any); ok && has {
			merge(under, inner)
			continue
		}
		base[k] = v
	}
}

func decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
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
	rows, err := q.QueryContext(ctx, `SELECT l.op, l.name, f.guid, f.name, f.size, f.mime, f.kind, f.info, f.locked, f.created
		FROM link l JOIN file f ON f.n = l.file WHERE l.op IN (`+marks(len(args))+`) ORDER BY l.op, l.file`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var op, created int64
		var shown string
		var guid []byte
		var d documentJSON
		if err := rows.Scan(&op, &shown, &guid, &d.FileName, &d.Size, &d.Mime, &d.DocType, &d.Info, &d.IsLock, &created); err != nil {
			return nil, err
		}
		if shown != "" {
			d.FileName = shown
		}
		d.GUID, d.CreateAt = guidText(guid), stamp(created)
		found[op] = append(found[op], d)
	}
	return found, rows.Err()
}

func guidText(b []byte) string {
	var u uuid.UUID
	copy(u[:], b)
	return u.String()
}

// renderAll gives the REST shapes of ops with their documents.
func renderAll(ctx context.Context, q querier, seed uint64, ops []operationRow) ([]json.RawMessage, error) {
	docs, err := documentsOf(ctx, q, ops)
	if err != nil {
		return nil, err
	}
	list := make([]json.RawMessage, len(ops))
	for i := range ops {
		list[i] = ops[i].render(seed, docs[ops[i].n])
	}
	return list, nil
}
