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
	for _, f := range []func(context.Context, *sql.Tx, *world) error{seedCustomers, seedAccounts, seedPayees,
		seedFreeFiles} {
		if err := f(ctx, tx, w); err != nil {
			return err
		}
	}
	return seedOperations(ctx, tx, w, st.Operations)
}

func seedCustomers(ctx context.Context, tx *sql.Tx, w *world) error {
	add, err := inserter(ctx, tx, `customer(n, cuid, puid, type, status, display, name, lastname, company,
		comment, email, phone, created, updated, onboarded)`)
	if err != nil {
		return err
	}
	for i, p := range people {
		d := newDice(w.seed, saltCustomer, i)
		created := w.newest - int64(i+30)*31*int64(time.Hour)
		cuid := "D" + d.word(6) + "-" + d.word(4) + "-" + d.word(12)
		onboarded := int64(0)
		if p.status == 3 {
			onboarded = created + 3*int64(time.Hour)
		}
		if err := add(i, cuid, d.uuid().String(), p.kind(), p.status, p.display(), p.name, p.lastname, p.company, "",
			fmt.Sprintf("customer%02d@example.com", i+1), "+1555"+d.digits(7), created, w.touched(i, p.status, created),
			onboarded); err != nil {
			return err
		}
	}
	return nil
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
	add, err := inserter(ctx, tx, `account(n, id, customer, name, number, currency, status, is_default,
		associate, units, nanos, hold_units, hold_nanos, requisites, created, updated)`)
	if err != nil {
		return err
	}
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
		if err := add(i, a.id, a.customer, a.name, a.number, a.currency, 3, a.id == w.accounts[w.byOwner[a.customer][0]].id,
			associate,
			bal.units, bal.nanos, hold.units, hold.nanos, string(req), created, created); err != nil {
			return err
		}
	}
	return nil
}

func seedPayees(ctx context.Context, tx *sql.Tx, w *world) error {
	add, err := inserter(ctx, tx, `counterparty(n, suid, customer, name, bank, description, profile, created, updated)`)
	if err != nil {
		return err
	}
	for i, p := range w.payees {
		profile := encode(patch{"name": p.name, "email": fmt.Sprintf("payee%02d@example.com", i+1),
			"phoneNumber": fmt.Sprintf("+1555%07d", i),
			"address": patch{"addressLine1": fmt.Sprintf("%d Sample Street", i+1), "city": "Exampleton", "countryIso": "US",
				"postalCode": "00000"}})
		created := w.newest - int64(i+40)*29*int64(time.Hour)
		if err := add(i, p.suid, p.customer, p.name, p.bank, "supplier", string(profile), created, created); err != nil {
			return err
		}
	}
	add, err = inserter(ctx, tx, `cpaccount(n, id, counterparty, name, number, currency, status, kind, rails, created,
		updated)`)
	if err != nil {
		return err
	}
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
		if err := add(i, t.id, t.payee, t.name, t.number, t.currency, status, kind, paymentTypes[rails(t.currency)[0]],
			created,
			created); err != nil {
			return err
		}
	}
	return nil
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
