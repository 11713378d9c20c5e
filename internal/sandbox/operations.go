package sandbox

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"
)

// getOperation: GET /v2/billing/operation/{id}.
func getOperation(c *call) (any, error) {
	o, err := findOperation(c, c.db, c.param("opid"))
	if err != nil {
		return nil, err
	}
	return showOperation(c, c.db, o)
}

func showOperation(c *call, q querier, o operationRow) (any, error) {
	list, err := renderAll(c.ctx, q, c.st.Seed, []operationRow{o})
	if err != nil {
		return nil, err
	}
	return item(list[0]), nil
}

// operationTree: GET /v2/billing/operation/{id}/tree.
func operationTree(c *call) (any, error) {
	o, err := findOperation(c, c.db, c.param("opid"))
	if err != nil {
		return nil, err
	}
	children, err := queryOperations(c.ctx, c.db, `WHERE o.parent = ? ORDER BY o.n`, o.n)
	if err != nil {
		return nil, err
	}
	rows := append([]operationRow{o}, children...)
	list, err := renderAll(c.ctx, c.db, c.st.Seed, rows)
	if err != nil {
		return nil, err
	}
	list[0].Provider = patch{"name": "sample rail", "reference": "SBXP-" + rows[0].opid(c.st.Seed)[:8]}
	return patch{"item": list[0], "children": list[1:]}, nil
}

// listOperations: GET /v2/billing/operation, newest first.
func listOperations(c *call) (any, error) {
	p, terms, args := c.page(), []string{"1"}, []any{}
	where := func(name, term string, values ...any) {
		if c.query.Get(name) != "" {
			terms, args = append(terms, term), append(args, values...)
		}
	}
	account, cuid, name := c.query.Get("account"), c.query.Get("clientCuid"), c.query.Get("clientName")
	const accounts = `(SELECT n FROM record WHERE kind = 'account' AND ? IN (id, doc ->> 'number'))`
	where("account", `(o.account IN `+accounts+` OR o.account2 IN `+accounts+`)`, account, account)
	where("clientCuid", `o.customer IN (SELECT n FROM record WHERE kind = 'customer' AND id = ?)`, cuid)
	where("clientName", `o.customer IN (SELECT n FROM record WHERE kind = 'customer'
		AND instr(lower(doc ->> 'display'), lower(?)))`, name)
	where("status", `o.status = ?`, codeOf(operationStatuses, c.query.Get("status")))
	where("type", `o.type = ?`, codeOf(operationTypes, c.query.Get("type")))
	where("paymentType", `o.pay = ?`, codeOf(paymentTypes, c.query.Get("paymentType")))
	where("fromCreatedAt", `o.created >= ?`, c.bound("fromCreatedAt", time.Time{}).UnixNano())
	where("toCreatedAt", `o.created <= ?`, c.bound("toCreatedAt", time.Time{}).UnixNano())
	if c.bad != nil {
		return nil, c.bad
	}
	from := ` FROM operation o WHERE ` + strings.Join(terms, ` AND `)
	total, err := count(c.ctx, c.db, `SELECT count(*)`+from, args...)
	if err != nil {
		return nil, err
	}
	// The page is cut on ids alone: skipped rows are then never joined.
	ops, err := queryOperations(c.ctx, c.db, `WHERE o.n IN (SELECT n`+from+` ORDER BY o.created DESC, o.n
		LIMIT ? OFFSET ?) ORDER BY o.created DESC, o.n`, append(args, p.size, p.number*p.size)...)
	if err != nil {
		return nil, err
	}
	items, err := renderAll(c.ctx, c.db, c.st.Seed, ops)
	return p.body(total, items), err
}

// operationRow is an operation as stored, with what it refers to.
type operationRow struct {
	n                       int64
	status, typ, pay, flags int
	parent                  sql.NullInt64
	owner                   int64 // the number of customer
	created, updated        int64
	target                  sql.NullInt64 // the number of an account of payee
	customer                customer
	account                 account
	second                  *account
	payee                   *counterparty
}

// The accounts of counterparty n have the numbers 2n and 2n+1.
func queryOperations(ctx context.Context, q querier, tail string, args ...any) ([]operationRow, error) {
	return query(ctx, q, func(o *operationRow) []any {
		return []any{&o.n, &o.status, &o.typ, &o.pay, &o.flags, &o.parent, &o.owner, &o.created, &o.updated, &o.target,
			scanJSON{&o.customer}, scanJSON{&o.account}, scanJSON{&o.second}, scanJSON{&o.payee}}
	}, `SELECT o.n, o.status, o.type, o.pay, o.flags, o.parent, o.customer, o.created, o.updated, o.cpaccount,
			c.doc, a.doc, b.doc, p.doc FROM operation o
		JOIN record c ON c.kind = 'customer' AND c.n = o.customer
		JOIN record a ON a.kind = 'account' AND a.n = o.account
		LEFT JOIN record b ON b.kind = 'account' AND b.n = o.account2
		LEFT JOIN record p ON p.kind = 'counterparty' AND p.n = o.cpaccount / 2 `+tail, args...)
}

// payeeAccount is the account of the counterparty; nil: the operation has none.
func (o *operationRow) payeeAccount() *payeeAccount {
	if o.payee == nil {
		return nil
	}
	return o.payee.Accounts[o.target.Int64%2]
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

var comments = []string{"", "Payment for services", "Invoice settlement", "Salary", "Lieferung vom März", "Возврат",
	"ご請求分", "Refund of deposit", "Monthly rent"}

// amounts of o in the currencies of its two sides.
func (o *operationRow) amounts(seed uint64) operationAmounts {
	from, to := o.account.CurrencyCode, o.account.CurrencyCode
	if o.second != nil {
		to = o.second.CurrencyCode
	}
	n := o.n
	if o.parent.Valid {
		n = o.parent.Int64
	}
	return drawAmounts(seed, int(n), from, to)
}

// sides are source and destination: money of a DEPOSIT comes from the counterparty, of every other type from the
// account.
func (o *operationRow) sides() (source, destination patch) {
	own, other := o.account.side(&o.customer), patch(nil)
	if a := o.payeeAccount(); a != nil {
		other = patch{"counterpartyAccount": patch{"id": a.AccountID, "name": a.Name, "number": a.Number,
			"counterparty": patch{"suid": o.payee.CounterpartyID, "name": o.payee.Profile.Name, "bankName": a.Bank["name"]}}}
	}
	if o.second != nil {
		other = o.second.side(&o.customer)
	}
	if o.typ == typeDeposit {
		return other, own
	}
	return own, other
}

// shownOperation is the REST shape of an operation; its members have the order of the documents.
type shownOperation struct {
	Opid                 string `json:"opid"`
	IsVisible            bool   `json:"isVisible"`
	Status               string `json:"status"`
	Type                 string `json:"type"`
	PaymentType          string `json:"paymentType"`
	CreatedAt            string `json:"createdAt"`
	UpdatedAt            string `json:"updatedAt"`
	Source               patch  `json:"source"`
	Destination          patch  `json:"destination"`
	SourceAmount         amount `json:"sourceAmount"`
	DestinationAmount    amount `json:"destinationAmount"`
	CommissionAmount     amount `json:"commissionAmount"`
	CurrentBalanceAmount amount `json:"currentBalanceAmount"`
	Comment              string `json:"comment"`
	IsParent             bool   `json:"isParent"`
	Reference            string `json:"reference"`
	Customer             patch  `json:"customer"`
	Documents            []any  `json:"documents"`
	Provider             patch  `json:"provider,omitempty"` // in a tree
}

func (o *operationRow) render(seed uint64, documents []any) *shownOperation {
	a := o.amounts(seed)
	d := newDice(seed, saltAmount, int(o.n)+1<<42)
	v := &shownOperation{Opid: o.opid(seed), IsVisible: o.flags&flagVisible != 0, IsParent: o.flags&flagParent != 0,
		Status: operationStatuses[o.status], Type: operationTypes[o.typ],
		PaymentType: paymentTypes[o.pay], CreatedAt: stamp(o.created), UpdatedAt: stamp(o.updated),
		SourceAmount: amount{a.source}, DestinationAmount: amount{a.destination},
		CommissionAmount: amount{a.commission}, CurrentBalanceAmount: amount{a.balance},
		Comment: pick(&d, comments), Reference: "SBX-" + d.digits(8), Customer: o.customer.ref(),
		Documents: append([]any{}, documents...)}
	v.Source, v.Destination = o.sides()
	return v
}

// documentsOf returns the attached documents by operation.
func documentsOf(ctx context.Context, q querier, ops []operationRow) (map[int64][]any, error) {
	args := make([]any, len(ops))
	for i := range ops {
		args[i] = ops[i].n
	}
	type attached struct {
		op   int64
		name string // that it was given there; "": its own
		fileRow
	}
	rows, err := query(ctx, q, func(d *attached) []any { return append([]any{&d.op, &d.name}, d.columns()...) },
		`SELECT l.op, l.name, `+fileColumnsRead+` FROM link l JOIN file f ON f.n = l.file
			JOIN record c ON c.kind = 'customer' AND c.n = f.customer
			WHERE l.op IN (`+marks(len(args))+`) ORDER BY l.op, l.file`, args...)
	found := map[int64][]any{}
	for _, d := range rows {
		found[d.op] = append(found[d.op], patch{"guid": d.guid.String(), "fileName": cmp.Or(d.name, d.fileRow.name),
			"size": d.size, "mime": d.mime, "docType": d.kind, "info": d.info, "isLock": d.locked,
			"createAt": stamp(d.created)})
	}
	return found, err
}

// renderAll gives the REST shapes of ops with their documents.
func renderAll(ctx context.Context, q querier, seed uint64, ops []operationRow) ([]*shownOperation, error) {
	docs, err := documentsOf(ctx, q, ops)
	if err != nil {
		return nil, err
	}
	list := make([]*shownOperation, len(ops))
	for i := range ops {
		list[i] = ops[i].render(seed, docs[ops[i].n])
	}
	return list, nil
}

// opidOf is the id of operation n: 64 of its bits are n scrambled, the rest
// follows from n. So ids need neither a column nor an index, which would be the
// largest index of a file with a million operations.
func opidOf(seed uint64, n int64) uuid.UUID {
	d := newDice(seed, saltOperation, int(n)+1<<41)
	id := d.uuid()
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], scramble(seed, uint64(n)))
	copy(id[:6], b[:6]) // version and variant are in bytes 6 and 8
	copy(id[14:], b[6:])
	return id
}

// numberOf finds the number of an id; false: no operation can have it.
func numberOf(seed uint64, id uuid.UUID) (int64, bool) {
	var b [8]byte
	copy(b[:6], id[:6])
	copy(b[6:], id[14:])
	n := unscramble(seed, binary.BigEndian.Uint64(b[:]))
	return int64(n), n < 1<<40 && opidOf(seed, int64(n)) == id
}

const rounds = 4

// scramble is a Feistel network: a bijection of 64 bits that looks random.
func scramble(seed, v uint64) uint64 {
	l, r := uint32(v>>32), uint32(v)
	for i := range rounds {
		l, r = r, l^mix(seed, i, r)
	}
	return uint64(l)<<32 | uint64(r)
}

// unscramble is the inverse of scramble.
func unscramble(seed, v uint64) uint64 {
	l, r := uint32(v>>32), uint32(v)
	for i := rounds - 1; i >= 0; i-- {
		l, r = r^mix(seed, i, l), l
	}
	return uint64(l)<<32 | uint64(r)
}

func mix(seed uint64, round int, half uint32) uint32 {
	d := newDice(seed, saltOpid, int(half)<<8|round)
	return uint32(d.next())
}

// money is a sum as the service carries it: whole units as text of any length and billionths; both carry the sign.
type money struct {
	Currency string `json:"currencyCode"`
	Units    string `json:"units"`
	Nanos    int64  `json:"nanos"`
}

// amount wraps a sum as REST does.
type amount struct {
	Sum money `json:"sum"`
}

func (m money) negative() money {
	if m.Units != "0" {
		m.Units = "-" + m.Units
	}
	m.Nanos = -m.Nanos
	return m
}

// sign is the word of the filter "balance".
func (m money) sign() string {
	switch {
	case strings.HasPrefix(m.Units, "-") || m.Nanos < 0:
		return "NEGATIVE"
	case m.Units == "0" && m.Nanos == 0:
		return "ZERO"
	}
	return "POSITIVE"
}

// change runs f in one transaction, like a call by the service itself.
func (s *store) change(ctx context.Context, f func(c *call, tx *sql.Tx) error) error {
	c := &call{store: s, ctx: context.WithoutCancel(ctx), at: s.clock()}
	return s.write(ctx, func(tx *sql.Tx) (err error) {
		if c.st, err = loadSettings(ctx, tx); err != nil {
			return err
		}
		return f(c, tx)
	})
}
