package sandbox

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// seedData fills a new file.
func seedData(ctx context.Context, tx *sql.Tx, st settings) error {
	w := upToNow(st)
	if err := seedRecords(ctx, tx, w); err != nil {
		return err
	}
	if err := seedFreeFiles(ctx, tx, w); err != nil {
		return err
	}
	return seedOperations(ctx, tx, w, st.Operations)
}

// seedRecords makes customers, accounts and counterparties.
func seedRecords(ctx context.Context, tx *sql.Tx, w *world) error {
	add, err := inserter(ctx, tx, `record(kind, n, id, doc)`)
	if err != nil {
		return err
	}
	for i, p := range people {
		v := w.customer(i, p)
		if err := add(kindCustomer, i, v.Cuid, string(encode(v))); err != nil {
			return err
		}
	}
	for i, v := range w.accounts {
		if err := add(kindAccount, i, v.ID, string(encode(v))); err != nil {
			return err
		}
	}
	for i, v := range w.payees {
		if err := add(kindCounterparty, i, v.CounterpartyID, string(encode(v))); err != nil {
			return err
		}
	}
	return nil
}

// before is so many hours before the newest operation.
func (w *world) before(hours int) time.Time {
	return time.Unix(0, w.newest).UTC().Add(-time.Duration(hours) * time.Hour)
}

func (w *world) customer(i int, p person) customer {
	d := newDice(w.seed, saltCustomer, i)
	v := customer{Display: p.display(), Outstanding: []string{}, shownCustomer: shownCustomer{
		Cuid: "D" + d.word(6) + "-" + d.word(4) + "-" + d.word(12), Puid: d.uuid().String(), Type: p.kind(),
		Status: customerStatuses[p.status], Name: p.name, Lastname: p.lastname, Company: p.company,
		Email: fmt.Sprintf("customer%02d@example.com", i+1), Phone: "+1555" + d.digits(7),
		CreatedAt: w.before((i + 30) * 31)}}
	v.UpdatedAt = v.CreatedAt.Add(time.Hour)
	if w.gap > 0 && v.Status == "VERIFY" { // in data that run up to now, they began to wait today
		v.UpdatedAt = w.before(0).Add(-time.Duration(i+1) * 11 * time.Minute)
	}
	if v.Status == "ACCEPT" {
		at := v.CreatedAt.Add(3 * time.Hour)
		v.OnboardingAt = &at
	}
	return v
}

// seedFreeFiles gives every customer two documents that no operation has yet.
func seedFreeFiles(ctx context.Context, tx *sql.Tx, w *world) error {
	add, err := inserter(ctx, tx, fileColumns)
	if err != nil {
		return err
	}
	for i := range 2 * len(people) {
		if err := add(w.sampleFile(-1-i, i/2, false, w.newest-int64(i)*int64(time.Hour))...); err != nil {
			return err
		}
	}
	return nil
}

const fileColumns = `file(n, guid, customer, name, mime, size, kind, info, locked, created)`

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
	return []any{n, id[:], customer, s.name, s.mime, size, s.kind, s.info, locked, created}
}

// fileNumber is the number of document k of operation n.
func fileNumber(n, k int) int { return n*8 + k + 1 }

func seedOperations(ctx context.Context, tx *sql.Tx, w *world, count int) error {
	add, err := inserter(ctx, tx, `operation(n, status, type, pay, flags, parent, customer, account, account2,
		cpaccount, created, updated)`)
	if err != nil {
		return err
	}
	attach, err := attacher(ctx, tx, w)
	if err != nil {
		return err
	}
	for n := range count {
		o := w.draft(n)
		if err := add(n, o.status, o.typ, o.pay, o.flags, null(o.parent), o.customer, o.account, null(o.account2),
			null(o.target), o.created, o.updated); err != nil {
			return err
		}
		for k := range o.documents {
			locked := (o.documentBy+k)%o.lockedOneOf == 0
			if n < 2 {
				locked = k == 2
			}
			if err := attach(n, k, o.customer, locked, o.created); err != nil {
				return err
			}
		}
	}
	return nil
}

// attacher makes document k of operation n.
func attacher(ctx context.Context, tx *sql.Tx, w *world) (func(n, k, customer int, locked bool, created int64) error,
	error) {
	file, err := inserter(ctx, tx, fileColumns)
	if err != nil {
		return nil, err
	}
	link, err := inserter(ctx, tx, `link(op, file, name)`)
	return func(n, k, customer int, locked bool, created int64) error {
		if err := file(w.sampleFile(fileNumber(n, k), customer, locked, created)...); err != nil {
			return err
		}
		return link(n, fileNumber(n, k), "")
	}, err
}

func null(n int) any {
	if n < 0 {
		return nil
	}
	return n
}

// inserter prepares an insert of one row into the columns of a table, "table(column, column)".
func inserter(ctx context.Context, tx *sql.Tx, into string) (func(row ...any) error, error) {
	stmt, err := tx.PrepareContext(ctx, `INSERT INTO `+into+` VALUES(`+marks(strings.Count(into, ",")+1)+`)`)
	return func(row ...any) error {
		_, err := stmt.ExecContext(ctx, row...)
		return err
	}, err
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
	attach, err := attacher(c.ctx, tx, w)
	if err == nil {
		err = attach(n, 0, o.customer, false, created)
	}
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
