package sandbox

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

type customerRow struct {
	n                                    int64
	cuid, puid, kind, display            string
	name, lastname, company, comment     string
	email, phone                         string
	status                               int
	created, updated, onboarded, shared  int64
	application, appStatus, outstandJSON string
}

const customerSelect = `SELECT n, cuid, puid, type, display, name, lastname, company, comment, email, phone, status,
	created, updated, onboarded, shared, app, app_status, outstanding FROM customer`

func queryCustomers(ctx context.Context, q querier, tail string, args ...any) ([]customerRow, error) {
	return query(ctx, q, (*customerRow).columns, customerSelect+tail, args...)
}

func (c *customerRow) columns() []any {
	return []any{&c.n, &c.cuid, &c.puid, &c.kind, &c.display, &c.name, &c.lastname, &c.company, &c.comment, &c.email,
		&c.phone, &c.status,
		&c.created, &c.updated, &c.onboarded, &c.shared, &c.application, &c.appStatus, &c.outstandJSON}
}

func findCustomer(ctx context.Context, q querier, cuid string) (customerRow, error) {
	rows, err := queryCustomers(ctx, q, ` WHERE cuid = ?`, cuid)
	return only(rows, err, "Customer", cuid)
}

// outstanding are the document sets that are still missing.
func (c *customerRow) outstanding() []string {
	list := []string{}
	if json.Unmarshal([]byte(c.outstandJSON), &list) != nil {
		return []string{}
	}
	return list
}

func (c *customerRow) setOutstanding(list []string) {
	if list == nil {
		list = []string{}
	}
	c.outstandJSON = string(encode(list))
}

func (c *customerRow) render() any {
	var onboarded any
	if c.onboarded != 0 {
		onboarded = stamp(c.onboarded)
	}
	return object{"cuid", c.cuid, "puid", c.puid, "type", c.kind, "status", nameOf(customerStatuses, c.status), "name",
		c.name, "lastname", c.lastname,
		"company", c.company, "comment", c.comment, "email", c.email, "phone", c.phone,
		"createdAt", stamp(c.created), "updatedAt", stamp(c.updated), "onboardingAt", onboarded}
}

// saveCustomer writes what may change and raises the event.
func saveCustomer(c *call, tx *sql.Tx, row customerRow) error {
	row.updated = max(c.at.UnixNano(), row.updated+1)
	err := execute(c.ctx, tx, `UPDATE customer SET status = ?, display = ?, name = ?, lastname = ?, comment = ?,
		updated = ?, onboarded = ?, shared = ?, app = ?, app_status = ?, outstanding = ? WHERE n = ?`,
		row.status, row.display, row.name, row.lastname, row.comment, row.updated, row.onboarded, row.shared, row.application,
		row.appStatus, row.outstandJSON, row.n)
	if err != nil {
		return err
	}
	return raiseCustomer(c, tx, row)
}

// listCustomers: GET /v2/customer.
func listCustomers(c *call) (any, error) {
	q, w := c.r.URL.Query(), &where{}
	w.equal("cuid", q.Get("customerId"))
	w.contains("display", q.Get("customerName"))
	w.equal("type", q.Get("type"))
	w.code("status", customerStatuses, q.Get("status"))
	if err := w.between(c, "created", "fromCreateAt", "toCreateAt"); err != nil {
		return nil, err
	}
	return listPage(c, ` FROM customer`, w, "created DESC, n", queryCustomers, (*customerRow).render)
}

// getCustomer: GET /v2/customer/{customerId}.
func getCustomer(c *call) (any, error) {
	row, err := findCustomer(c.ctx, c.db, c.param("cuid"))
	return item(row.render()), err
}

type counterpartyRow struct {
	n                             int64
	suid, name, bank, description string
	profile, cuid, customerName   string
	created, updated              int64
	accounts                      []payeeAccount
}

// payeeAccount is an account of a counterparty.
type payeeAccount struct {
	n                                       int64
	id, name, number, currency, kind, rails string
	status                                  int
	created, updated                        int64
}

const counterpartyFrom = ` FROM counterparty p JOIN customer c ON c.n = p.customer`

func (p *counterpartyRow) columns() []any {
	return []any{&p.n, &p.suid, &p.name, &p.bank, &p.description, &p.profile, &p.created, &p.updated, &p.cuid,
		&p.customerName}
}

func (a *payeeAccount) columns() []any {
	return []any{&a.n, &a.id, &a.name, &a.number, &a.currency, &a.kind, &a.rails, &a.status, &a.created, &a.updated}
}

func queryPayeeAccounts(ctx context.Context, q querier, tail string, args ...any) ([]payeeAccount, error) {
	return query(ctx, q, (*payeeAccount).columns, `SELECT k.n, k.id, k.name, k.number, k.currency, k.kind, k.rails,
		k.status, k.created, k.updated
		FROM cpaccount k JOIN counterparty p ON p.n = k.counterparty`+tail, args...)
}

// queryCounterparties returns counterparties with their accounts.
func queryCounterparties(ctx context.Context, q querier, tail string, args ...any) ([]counterpartyRow, error) {
	rows, err := query(ctx, q, (*counterpartyRow).columns,
		`SELECT p.n, p.suid, p.name, p.bank, p.description, p.profile, p.created, p.updated,
			c.cuid, c.display`+counterpartyFrom+tail, args...)
	for i := range rows {
		if err == nil {
			rows[i].accounts, err = queryPayeeAccounts(ctx, q, ` WHERE p.suid = ? ORDER BY k.n`, rows[i].suid)
		}
	}
	return rows, err
}

func findCounterparty(ctx context.Context, q querier, suid string) (counterpartyRow, error) {
	rows, err := queryCounterparties(ctx, q, ` WHERE p.suid = ?`, suid)
	return only(rows, err, "Counterparty", suid)
}

func (p *counterpartyRow) render() any {
	owner := object{"cuid", p.cuid, "name", p.customerName}
	accounts := make([]any, len(p.accounts))
	for i, a := range p.accounts {
		accounts[i] = object{"accountId", a.id, "currencyCode", a.currency, "status", nameOf(counterpartyStatuses, a.status),
			"name", a.name, "number", a.number, "type", a.kind, "supportedRails", []string{a.rails},
			"createdAt", stamp(a.created), "updatedAt", stamp(a.updated), "bank", object{"name", p.bank},
			"counterparty", object{"counterpartyId", p.suid, "name", p.name}, "customer", owner}
	}
	return object{"counterpartyId", p.suid, "description", p.description, "createdAt", stamp(p.created), "updatedAt",
		stamp(p.updated),
		"profile", json.RawMessage(p.profile), "customer", owner, "accounts", accounts}
}

// listCounterparties: GET /v2/counterparty.
func listCounterparties(c *call) (any, error) {
	q, w := c.r.URL.Query(), &where{}
	w.equal("p.suid", q.Get("counterpartyId"))
	w.contains("p.name", q.Get("counterpartyName"))
	w.equal("c.cuid", q.Get("customerId"))
	w.contains("c.display", q.Get("customerName"))
	if err := w.between(c, "p.created", "fromCreatedAt", "toCreatedAt"); err != nil {
		return nil, err
	}
	return listPage(c, counterpartyFrom, w, "p.created DESC, p.n", queryCounterparties, (*counterpartyRow).render)
}

// getCounterparty: GET /v2/counterparty/{counterpartyId}.
func getCounterparty(c *call) (any, error) {
	p, err := findCounterparty(c.ctx, c.db, c.param("counterparty"))
	return item(p.render()), err
}

type accountRow struct {
	n, customer                         int64
	id, name, number, currency          string
	status                              int
	isDefault                           bool
	associate                           string
	balance, hold                       money
	requisites                          string
	created, updated                    int64
	cuid, ownerName, ownerMail, ownerNo string
	ownerStatus                         int
}

const accountFrom = ` FROM account a JOIN customer c ON c.n = a.customer`

func queryAccounts(ctx context.Context, q querier, tail string, args ...any) ([]accountRow, error) {
	return query(ctx, q, (*accountRow).columns, `SELECT a.n, a.customer, a.id, a.name, a.number, a.currency, a.status,
		a.is_default, a.associate,
		a.currency, a.units, a.nanos, a.currency, a.hold_units, a.hold_nanos, a.requisites, a.created, a.updated,
		c.cuid, c.display, c.email, c.phone, c.status`+accountFrom+tail, args...)
}

func (a *accountRow) columns() []any {
	return []any{&a.n, &a.customer, &a.id, &a.name, &a.number, &a.currency, &a.status, &a.isDefault, &a.associate,
		&a.balance.currency, &a.balance.units, &a.balance.nanos, &a.hold.currency, &a.hold.units, &a.hold.nanos,
		&a.requisites, &a.created, &a.updated, &a.cuid, &a.ownerName, &a.ownerMail, &a.ownerNo, &a.ownerStatus}
}

func findAccount(ctx context.Context, q querier, id string) (accountRow, error) {
	rows, err := queryAccounts(ctx, q, ` WHERE a.id = ?`, id)
	return only(rows, err, "Account", id)
}

func (a *accountRow) render() any {
	status := nameOf(accountStatuses, a.status)
	if status == "ACCEPTED" {
		status = "ACCEPT" // REST has ACCEPT where webhooks' table says ACCEPTED
	}
	owner := object{"id", a.cuid, "name", a.ownerName, "email", a.ownerMail, "phone", a.ownerNo, "status",
		nameOf(customerStatuses, a.ownerStatus)}
	return object{"id", a.id, "customer", owner, "isDefault", a.isDefault, "name", a.name, "number", a.number,
		"currencyCode", a.currency, "status", status, "associateType", a.associate, "balance", a.balance.rest(), "hold",
		a.hold.rest(),
		"requisites", json.RawMessage(a.requisites), "createdAt", stamp(a.created), "updatedAt", stamp(a.updated)}
}

// listAccounts: GET /v2/account.
func listAccounts(c *call) (any, error) {
	q, w := c.r.URL.Query(), &where{}
	w.equal("a.currency", q.Get("currencyIso"))
	w.equal("c.cuid", q.Get("customerId"))
	switch v := q.Get("associateType"); v {
	case "", "ASSOCIATE_TYPE_NOT_SET":
	case "NOT_ASSOCIATE", "POOL", "COMMISSION":
		w.equal("a.associate", v)
	default:
		return nil, refuse(http.StatusBadRequest, "Unknown associateType: "+v)
	}
	switch v := q.Get("balance"); v {
	case "", "NOTSET":
	case "POSITIVE":
		w.add("a.units NOT LIKE '-%' AND a.nanos >= 0 AND NOT (a.units = '0' AND a.nanos = 0)")
	case "NEGATIVE":
		w.add("(a.units LIKE '-%' OR a.nanos < 0)")
	case "ZERO":
		w.add("a.units = '0' AND a.nanos = 0")
	default:
		return nil, refuse(http.StatusBadRequest, "Unknown balance: "+v)
	}
	return listPage(c, accountFrom, w, "a.n", queryAccounts, (*accountRow).render)
}

// getAccount: GET /v2/account/{id}.
func getAccount(c *call) (any, error) {
	a, err := findAccount(c.ctx, c.db, c.param("account"))
	return item(a.render()), err
}

// tariff is a limit or a commission of the sample data. The service's pages show no
// answer in full: what is beside the members that it is asked by is made up.
type tariff struct {
	from, to string
	body     object
}

var paymentLimits = []tariff{
	{from: "EUR", to: "EUR", body: object{"id", 1, "currencyIsoFrom", "EUR", "currencyIsoTo", "EUR", "operationLimit",
		money{currency: "EUR", units: "50000"}.rest(),
		"dailyLimit", money{currency: "EUR", units: "250000"}.rest(), "createdAt", stamp(baseTime)}},
	{from: "USD", to: "USD", body: object{"id", 2, "currencyIsoFrom", "USD", "currencyIsoTo", "USD", "operationLimit",
		money{currency: "USD", units: "75000"}.rest(),
		"dailyLimit", money{currency: "USD", units: "300000"}.rest(), "createdAt", stamp(baseTime)}},
	{from: "USD", to: "EUR", body: object{"id", 3, "currencyIsoFrom", "USD", "currencyIsoTo", "EUR", "operationLimit",
		money{currency: "USD", units: "9999", nanos: 990_000_000}.rest(),
		"createdAt", stamp(baseTime)}},
}

var commissions = []tariff{
	{from: "EUR", to: "EUR", body: object{"currencyIsoFrom", "EUR", "currencyIsoTo", "EUR", "operationType", "WITHDRAW",
		"paymentType", "SEPA_CT", "percent", 0.1, "fixed", 0.35}},
	{from: "USD", to: "USD", body: object{"currencyIsoFrom", "USD", "currencyIsoTo", "USD", "operationType", "WITHDRAW",
		"paymentType", "SWIFT", "percent", 0.25, "fixed", 15}},
	{from: "USD", to: "EUR", body: object{"currencyIsoFrom", "USD", "currencyIsoTo", "EUR", "operationType", "EXCHANGE",
		"paymentType", "EMPTY", "percent", 0.5, "fixed", 0}},
}

// listLimits: GET /v2/billing/limits.
func listLimits(c *call) (any, error) { return tariffs(c, paymentLimits, "customerId") }

// listCommissions: GET /v2/billing/commission.
func listCommissions(c *call) (any, error) {
	return tariffs(c, commissions, "customerCuid")
}

// tariffs answers with the page of rules that the call asks for; customer names the
// member that narrows to a customer, of whom none has a rule.
func tariffs(c *call, all []tariff, customer string) (any, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	q, items := c.r.URL.Query(), []any{}
	for _, t := range all {
		same := func(name, value string) bool { return q.Get(name) == "" || q.Get(name) == value }
		if same("currencyIsoFrom", t.from) && same("currencyIsoTo", t.to) && same(customer, "") {
			items = append(items, t.body)
		}
	}
	from := min(p.offset(), len(items))
	return p.body(int64(len(items)), slices.Clone(items[from:min(from+p.size, len(items))])), nil
}

// reportOperations: GET /v2/report/operations, a workbook of one page of operations.
// Unlike other lists it takes page and pageSize, and wants both.
func reportOperations(c *call) (any, error) {
	p := page{}
	for name, at := range map[string]*int{"page": &p.number, "pageSize": &p.size} {
		n, err := strconv.Atoi(c.r.URL.Query().Get(name))
		if err != nil || n < 0 || name == "pageSize" && (n < 1 || n > maxPageSize) {
			return nil, refuse(http.StatusBadRequest, name+" is required and must be a whole number")
		}
		*at = n
	}
	rows, err := queryOperations(c.ctx, c.db, `ORDER BY o.n LIMIT ? OFFSET ?`, p.size, p.offset())
	if err != nil {
		return nil, err
	}
	table := [][]string{{"opid", "status", "type", "paymentType", "customer", "amount", "currency", "createdAt"}}
	for _, o := range rows {
		sum := o.amounts(c.st.Seed).source
		digits := strings.TrimRight(fmt.Sprintf("%s.%09d", sum.units, sum.nanos), "0")
		table = append(table, []string{o.opid(c.st.Seed), nameOf(operationStatuses, o.status), nameOf(operationTypes, o.typ),
			nameOf(paymentTypes, o.pay), o.customerName, strings.TrimSuffix(digits, "."), sum.currency, stamp(o.created)})
	}
	file, err := workbook(table)
	return object{"data", base64.StdEncoding.EncodeToString(file), "name", ""}, err
}

// workbook is a file of one sheet (ECMA-376, Office Open XML), all cells texts.
func workbook(rows [][]string) ([]byte, error) {
	var sheet bytes.Buffer
	sheet.WriteString(xml.Header +
		`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`)
	for _, row := range rows {
		sheet.WriteString("<row>")
		for _, cell := range row {
			sheet.WriteString(`<c t="inlineStr"><is><t xml:space="preserve">`)
			if err := xml.EscapeText(&sheet, []byte(cell)); err != nil {
				return nil, err
			}
			sheet.WriteString("</t></is></c>")
		}
		sheet.WriteString("</row>")
	}
	sheet.WriteString("</sheetData></worksheet>")
	const main, rel = "application/vnd.openxmlformats-officedocument.spreadsheetml.",
		"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	const rels = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
		`<Relationship Id="rId1" Type="` + rel
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, part := range [][2]string{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="` + main +
			`sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="` + main +
			`worksheet+xml"/></Types>`},
		{"_rels/.rels", rels + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="` + rel +
			`"><sheets><sheet name="operations" sheetId="1" r:id="rId1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", rels + `/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`},
		{"xl/worksheets/sheet1.xml", strings.TrimPrefix(sheet.String(), xml.Header)},
	} {
		w, err := z.Create(part[0])
		if err == nil {
			_, err = w.Write([]byte(xml.Header + part[1]))
		}
		if err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}
