package sandbox

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// seedData fills a new file. Rows of operations and files are inserted many
// at a time, which is what makes a million of them bearable.
func seedData(ctx context.Context, tx *sql.Tx, st settings) error {
	w := upToNow(st)
	for _, f := range []func(context.Context, *sql.Tx, *world) error{seedCustomers, seedAccounts, seedPayees,
		seedFreeFiles} {
		if err := f(ctx, tx, w); err != nil {
			return err
		}
	}
	if err := seedOperations(ctx, tx, w, st.Operations); err != nil {
		return err
	}
	return execute(ctx, tx, `INSERT INTO counter(name, value) VALUES('operations', ?)`, st.Operations)
}

func seedCustomers(ctx context.Context, tx *sql.Tx, w *world) error {
	b := newBulk(ctx, tx, 10, `INSERT INTO customer(n, cuid, puid, type, status, display, name, lastname, company,
		comment, email, phone, created, updated, onboarded)`)
	for i, p := range people {
		d := newDice(w.seed, saltCustomer, i)
		created := w.newest - int64(i+30)*31*int64(time.Hour)
		cuid := "D" + d.word(6) + "-" + d.word(4) + "-" + d.word(12)
		onboarded := int64(0)
		if p.status == 3 {
			onboarded = created + 3*int64(time.Hour)
		}
		b.add(i, cuid, d.uuid().String(), p.kind(), p.status, p.display(), p.name, p.lastname, p.company, "",
			fmt.Sprintf("customer%02d@example.com", i+1), "+1555"+d.digits(7), created, w.touched(i, p.status, created),
			onboarded)
	}
	return b.flush()
}

// touched is when customer i changed last. In data that run up to now, customers in
// VERIFY began to wait today.
func (w *world) touched(i, status int, created int64) int64 {
	if w.gap > 0 && nameOf(customerStatuses, status) == "VERIFY" {
		return w.newest - int64(i+1)*int64(11*time.Minute)
	}
	return created + int64(time.Hour)
}

func seedAccounts(ctx context.Context, tx *sql.Tx, w *world) error {
	b := newBulk(ctx, tx, 10, `INSERT INTO account(n, id, customer, name, number, currency, status, is_default,
		associate, units, nanos, hold_units, hold_nanos, requisites, created, updated)`)
	for i, a := range w.accounts {
		d := newDice(w.seed, saltAccount, i+1000)
		cents := d.usualCents()
		bal, hold := inCoin(cents*20, a.currency), inCoin(cents/8, a.currency)
		associate := "NOT_ASSOCIATE"
		switch {
		case i%17 == 3:
			associate = "COMMISSION"
		case i%17 == 9:
			associate = "POOL"
		case i%13 == 5:
			bal = money{units: "0"}
		case i%13 == 7:
			bal = bal.negative()
		}
		req := encode([]any{patch{"title": "Details", "items": []any{
			patch{"id": "1", "key": "Account number", "value": a.number, "order": 1},
			patch{"id": "2", "key": "Bank", "value": banks[i%len(banks)], "order": 2}}}})
		created := w.newest - int64(i+60)*17*int64(time.Hour)
		b.add(i, a.id, a.customer, a.name, a.number, a.currency, 3, a.id == w.accounts[w.byOwner[a.customer][0]].id,
			associate,
			bal.units, bal.nanos, hold.units, hold.nanos, string(req), created, created)
	}
	return b.flush()
}

func seedPayees(ctx context.Context, tx *sql.Tx, w *world) error {
	b := newBulk(ctx, tx, 10,
		`INSERT INTO counterparty(n, suid, customer, name, bank, description, profile, created, updated)`)
	for i, p := range w.payees {
		profile := encode(patch{"name": p.name, "email": fmt.Sprintf("payee%02d@example.com", i+1),
			"phoneNumber": fmt.Sprintf("+1555%07d", i),
			"address": patch{"addressLine1": fmt.Sprintf("%d Sample Street", i+1), "city": "Exampleton", "countryIso": "US",
				"postalCode": "00000"}})
		created := w.newest - int64(i+40)*29*int64(time.Hour)
		b.add(i, p.suid, p.customer, p.name, p.bank, "supplier", string(profile), created, created)
	}
	if err := b.flush(); err != nil {
		return err
	}
	b = newBulk(ctx, tx, 10,
		`INSERT INTO cpaccount(n, id, counterparty, name, number, currency, status, kind, rails, created, updated)`)
	for i, t := range w.targets {
		created := w.newest - int64(i+20)*13*int64(time.Hour)
		status := 3
		if i%9 == 4 {
			status = i % 7
		}
		kind := "CHECKING"
		if i%2 == 1 {
			kind = "SAVING"
		}
		b.add(i, t.id, t.payee, t.name, t.number, t.currency, status, kind, paymentTypes[rails(t.currency)[0]], created,
			created)
	}
	return b.flush()
}

// seedFreeFiles gives every customer two documents that no operation has yet.
func seedFreeFiles(ctx context.Context, tx *sql.Tx, w *world) error {
	b := newBulk(ctx, tx, 10, fileInsert)
	for i := range 2 * len(people) {
		b.add(w.sampleFile(-1-i, i/2, false, w.newest-int64(i)*int64(time.Hour))...)
	}
	return b.flush()
}

const fileInsert = `INSERT INTO file(n, guid, store, customer, name, mime, size, kind, info, locked, created)`

var sampleNames = []sampleDoc{
	{"invoice.pdf", "application/pdf", "OPERATION_DOCUMENT", "Invoice"},
	{"contract.pdf", "application/pdf", "CONTRACT", "Signed contract"},
	{"receipt.png", "image/png", "OPERATION_DOCUMENT", "Receipt"},
	{"bill-of-lading.pdf", "application/pdf", "BILL_OF_LADING", "Bill of lading"},
	{"Rechnung März.pdf", "application/pdf", "INVOICE", "Rechnung"},
	{"請求書.pdf", "application/pdf", "INVOICE", "請求書"},
	{"passport.jpg", "image/jpeg", "PASSPORT", "Identity"},
	{"note.txt", "text/plain", "OPERATION_DOCUMENT", ""},
	{"term sheet v3 FINAL (2) - reviewed by both parties and countersigned.docx",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document", "TERM_SHEET",
		"Third version, countersigned"},
}

// sampleFile draws the row of file n; n is negative for free ones.
func (w *world) sampleFile(n, customer int, locked bool, created int64) []any {
	d := newDice(w.seed, saltFile, n+1<<40)
	id := d.uuid()
	s := pick(&d, sampleNames)
	if n < 0 || n >= fileNumber(2, 0) { // those of the two fixed operations stay
		s = drawDoc(&d, n, customer)
	}
	size := 200 + d.below(200_000)
	if strings.HasPrefix(s.mime, "image/") {
		size = max(size, leastPicture)
	}
	return []any{n, id[:], 0, customer, s.name, s.mime, size, s.kind, s.info, locked, created}
}

// fileNumber is the number of document k of operation n.
func fileNumber(n, k int) int { return n*8 + k + 1 }

func seedOperations(ctx context.Context, tx *sql.Tx, w *world, count int) error {
	ops := newBulk(ctx, tx, 50, `INSERT INTO operation(n, status, type, pay, flags, parent, customer, account, account2,
		cpaccount, created, updated)`)
	files := newBulk(ctx, tx, 50, fileInsert)
	links := newBulk(ctx, tx, 100, `INSERT INTO link(op, file, name)`)
	for n := range count {
		o := w.draft(n)
		ops.add(n, o.status, o.typ, o.pay, o.flags, null(o.parent), o.customer, o.account, null(o.account2), null(o.target),
			o.created, o.updated)
		for k := range o.documents {
			locked := (o.documentBy+k)%o.lockedOneOf == 0
			if n < 2 {
				locked = k == 2
			}
			files.add(w.sampleFile(fileNumber(n, k), o.customer, locked, o.created)...)
			links.add(n, fileNumber(n, k), "")
		}
	}
	for _, b := range []*bulk{ops, files, links} {
		if err := b.flush(); err != nil {
			return err
		}
	}
	return nil
}

func null(n int) any {
	if n < 0 {
		return nil
	}
	return n
}

// bulk inserts rows in groups with one prepared statement.
type bulk struct {
	ctx           context.Context
	tx            *sql.Tx
	insert        string
	columns, rows int
	stmt          *sql.Stmt
	args          []any
	err           error // the first one; it stops the inserts
}

// newBulk inserts rows at a time; insert ends with the columns in parentheses.
func newBulk(ctx context.Context, tx *sql.Tx, rows int, insert string) *bulk {
	columns := strings.Count(insert, ",") + 1
	return &bulk{ctx: ctx, tx: tx, insert: insert, columns: columns, rows: rows, args: make([]any, 0, columns*rows)}
}

func (b *bulk) query(rows int) string {
	return b.insert + " VALUES " + strings.TrimSuffix(strings.Repeat("("+marks(b.columns)+"),", rows), ",")
}

func (b *bulk) add(row ...any) {
	if b.err != nil {
		return
	}
	if b.args = append(b.args, row...); len(b.args) < b.columns*b.rows {
		return
	}
	if b.stmt == nil {
		if b.stmt, b.err = b.tx.PrepareContext(b.ctx, b.query(b.rows)); b.err != nil {
			return
		}
	}
	_, b.err = b.stmt.ExecContext(b.ctx, b.args...)
	b.args = b.args[:0]
}

// flush writes the rest and returns the first error; b must not be used afterwards.
func (b *bulk) flush() error {
	if b.stmt != nil {
		defer b.stmt.Close()
	}
	if len(b.args) > 0 && b.err == nil {
		_, b.err = b.tx.ExecContext(b.ctx, b.query(len(b.args)/b.columns), b.args...)
	}
	return b.err
}

// insertedFrom is the number of the first inserted operation, above all numbers of sample data.
const insertedFrom = 1 << 30

// newcomer is an operation to insert.
type newcomer struct {
	created int64 // Unix nanoseconds
	quiet   bool  // without a webhook
	settled bool  // in its drawn state; else PENDING
}

func insertOne(c *call, tx *sql.Tx, w *world, in newcomer) (string, error) {
	k, err := incremented(c.ctx, tx, "inserted")
	if err != nil {
		return "", err
	}
	n := insertedFrom + int(k)
	o := w.draft(25*(40+int(k)/22) + int(k)%22) // like one that is not part of an exchange
	created, status := in.created, statusPending
	if in.settled {
		status = o.status
	}
	err = execute(c.ctx, tx, `INSERT INTO operation(n, status, type, pay, flags, parent, customer, account, account2,
		cpaccount, created, updated) VALUES(?, ?, ?, ?, ?, NULL, ?, ?, ?, ?, ?, ?)`,
		n, status, o.typ, o.pay, flagVisible, o.customer, o.account, null(o.account2), null(o.target), created, created)
	if err != nil {
		return "", err
	}
	file := w.sampleFile(fileNumber(n, 0), o.customer, false, created)
	if err := execute(c.ctx, tx, fileInsert+` VALUES(`+marks(len(file))+`)`, file...); err != nil {
		return "", err
	}
	err = execute(c.ctx, tx, `INSERT INTO link(op, file, name) VALUES(?, ?, '');
		UPDATE counter SET value = value + 1 WHERE name = 'operations'`, n, fileNumber(n, 0))
	if err != nil {
		return "", err
	}
	ops, err := queryOperations(c.ctx, tx, `WHERE o.n = ?`, n)
	if err != nil {
		return "", err
	}
	if !in.quiet {
		err = raiseOperation(c, tx, ops[0])
	}
	return ops[0].opid(c.st.Seed), err
}

// breakOrder records that the numbers of operations are no longer consecutive in time order; lists are then sorted by
// time.
func breakOrder(ctx context.Context, tx *sql.Tx) error {
	return execute(ctx, tx, `CREATE INDEX IF NOT EXISTS operation_created ON operation(created, n)`)
}

func isIrregular(ctx context.Context, q querier) (bool, error) {
	n, err := count(ctx, q, `SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name = 'operation_created'`)
	return n > 0, err
}
