package sandbox

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

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
	list, err := renderAll(c.ctx, c.db, c.st.Seed, append([]operationRow{o}, children...))
	if err != nil {
		return nil, err
	}
	provider := encode(patch{"provider": patch{"name": "sample rail", "reference": "SBXP-" + o.opid(c.st.Seed)[:8]}})
	return object{"item", mergePatch(list[0], provider), "children", list[1:]}, nil
}

// listOperations: GET /v2/billing/operation, newest first.
func listOperations(c *call) (any, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	w, err := operationFilter(c)
	if err != nil {
		return nil, err
	}
	total, err := count(c.ctx, c.db, `SELECT count(*) FROM operation o`+w.String(), w.args...)
	if err != nil {
		return nil, err
	}
	// The page is cut on ids alone: skipped rows are then never joined.
	tail := `WHERE o.n IN (SELECT n FROM operation o` + w.String() + ` ORDER BY o.created DESC, o.n LIMIT ? OFFSET ?)
		ORDER BY o.created DESC, o.n`
	ops, err := queryOperations(c.ctx, c.db, tail, append(w.args, p.size, p.offset())...)
	if err != nil {
		return nil, err
	}
	items, err := renderAll(c.ctx, c.db, c.st.Seed, ops)
	return p.body(total, items), err
}

func operationFilter(c *call) (*where, error) {
	q, w := c.r.URL.Query(), &where{}
	if a := q.Get("account"); a != "" {
		const accounts = "(SELECT n FROM account WHERE id = ? OR number = ?)"
		w.add("(o.account IN "+accounts+" OR o.account2 IN "+accounts+")", a, a, a, a)
	}
	owner := &where{}
	owner.equal("cuid", q.Get("clientCuid"))
	owner.contains("display", q.Get("clientName"))
	if len(owner.terms) > 0 {
		w.add("o.customer IN (SELECT n FROM customer"+owner.String()+")", owner.args...)
	}
	w.code("o.status", operationStatuses, q.Get("status"))
	w.code("o.type", operationTypes, q.Get("type"))
	w.code("o.pay", paymentTypes, q.Get("paymentType"))
	return w, w.between(c, "o.created", "fromCreatedAt", "toCreatedAt")
}

// operationRow is an operation as stored, with what it refers to.
type operationRow struct {
	n                        int64
	status, typ, pay, flags  int
	parent                   sql.NullInt64
	customer                 int64
	created, updated         int64
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
	return []any{&o.n, &o.status, &o.typ, &o.pay, &o.flags, &o.parent, &o.customer, &o.created, &o.updated,
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
func (o *operationRow) render(seed uint64, documents []documentJSON) json.RawMessage {
	a := o.amounts(seed)
	d := newDice(seed, saltAmount, int(o.n)+1<<42)
	if documents == nil {
		documents = []documentJSON{}
	}
	v := operationJSON{
		Opid: o.opid(seed), IsVisible: o.flags&flagVisible != 0,
		Status: nameOf(operationStatuses, o.status), Type: nameOf(operationTypes, o.typ),
		PaymentType: nameOf(paymentTypes, o.pay),
		CreatedAt:   stamp(o.created), UpdatedAt: stamp(o.updated),
		SourceSum: a.source.rest(), DestSum: a.destination.rest(), Commission: a.commission.rest(), Balance: a.balance.rest(),
		Comment: pick(&d, comments), IsParent: o.flags&flagParent != 0, Reference: fmt.Sprintf("SBX-%s", d.digits(8)),
		Customer: customerRef{o.cuid, o.customerName}, Documents: documents,
	}
	v.Source, v.Destination = o.sides()
	return encode(v)
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

// money is a sum as the service carries it: whole units as text of any length
// and billionths; both carry the sign.
type money struct {
	currency string
	units    string
	nanos    int64
}

type moneyJSON struct {
	CurrencyCode string `json:"currencyCode"`
	Units        string `json:"units"`
	Nanos        int64  `json:"nanos"`
}

type amountJSON struct {
	Sum moneyJSON `json:"sum"`
}

func (m money) rest() *amountJSON {
	return &amountJSON{Sum: moneyJSON{CurrencyCode: m.currency, Units: m.units, Nanos: m.nanos}}
}

func (m money) negative() money {
	if m.units != "0" && !strings.HasPrefix(m.units, "-") {
		m.units = "-" + m.units
	}
	if m.nanos > 0 {
		m.nanos = -m.nanos
	}
	return m
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
