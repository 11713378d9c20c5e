package sandbox

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// customer is a customer as the file has it; REST shows shownCustomer.
type customer struct {
	shownCustomer
	Display     string          `json:"display"`
	Application json.RawMessage `json:"application"` // null: none was set
	AppStatus   string          `json:"appStatus"`
	Shared      bool            `json:"shared"`
	Outstanding []string        `json:"outstanding"` // document sets that are still missing
}

type shownCustomer struct {
	Cuid         string     `json:"cuid"`
	Puid         string     `json:"puid"`
	Type         string     `json:"type"`
	Status       string     `json:"status"`
	Name         string     `json:"name"`
	Lastname     string     `json:"lastname"`
	Company      string     `json:"company"`
	Comment      string     `json:"comment"`
	Email        string     `json:"email"`
	Phone        string     `json:"phone"`
	CreatedAt    time.Time  `json:"createdAt"`
	UpdatedAt    time.Time  `json:"updatedAt"`
	OnboardingAt *time.Time `json:"onboardingAt"`
}

func (c *customer) show([]customer) any { return c.shownCustomer }

func (c *customer) ref() patch { return patch{"cuid": c.Cuid, "name": c.Display} }

// account is an account of a customer, who is a number in the file and an object in answers.
type account struct {
	Customer      int             `json:"customer"`
	ID            string          `json:"id"`
	IsDefault     bool            `json:"isDefault"`
	Name          string          `json:"name"`
	Number        string          `json:"number"`
	CurrencyCode  string          `json:"currencyCode"`
	Status        string          `json:"status"`
	AssociateType string          `json:"associateType"`
	Balance       amount          `json:"balance"`
	Hold          amount          `json:"hold"`
	Requisites    json.RawMessage `json:"requisites"`
	CreatedAt     time.Time       `json:"createdAt"`
	UpdatedAt     time.Time       `json:"updatedAt"`
}

func (a *account) show(owners []customer) any {
	owner := owners[a.Customer]
	return struct {
		*account
		Customer patch `json:"customer"`
	}{a, patch{"id": owner.Cuid, "name": owner.Display, "email": owner.Email, "phone": owner.Phone,
		"status": owner.Status}}
}

// side is the account as one side of an operation of that owner.
func (a *account) side(owner *customer) patch {
	return patch{"account": patch{"id": a.ID, "name": a.Name, "number": a.Number, "customer": owner.ref()}}
}

// counterparty is a counterparty of a customer, who is a number in the file and an object in answers.
type counterparty struct {
	Customer       int             `json:"customer"`
	CounterpartyID string          `json:"counterpartyId"`
	Description    string          `json:"description"`
	Profile        payeeProfile    `json:"profile"`
	Accounts       []*payeeAccount `json:"accounts"`
	CreatedAt      time.Time       `json:"createdAt"`
	UpdatedAt      time.Time       `json:"updatedAt"`
}

type payeeProfile struct {
	Name        string            `json:"name"`
	Email       string            `json:"email"`
	PhoneNumber string            `json:"phoneNumber"`
	Address     map[string]string `json:"address"`
}

type payeeAccount struct {
	AccountID      string            `json:"accountId"`
	CurrencyCode   string            `json:"currencyCode"`
	Status         string            `json:"status"`
	Name           string            `json:"name"`
	Number         string            `json:"number"`
	Type           string            `json:"type"`
	SupportedRails []string          `json:"supportedRails"`
	Bank           map[string]string `json:"bank"`
	Counterparty   map[string]string `json:"counterparty"`
	Customer       patch             `json:"customer,omitempty"` // in answers
	CreatedAt      time.Time         `json:"createdAt"`
	UpdatedAt      time.Time         `json:"updatedAt"`
}

func (p *counterparty) show(owners []customer) any {
	owner := owners[p.Customer].ref()
	for _, a := range p.Accounts {
		a.Customer = owner
	}
	return struct {
		*counterparty
		Customer patch `json:"customer"`
	}{p, owner}
}

// Kinds of records.
const (
	kindCustomer     = "customer"
	kindAccount      = "account"
	kindCounterparty = "counterparty"
)

// find reads the record of a kind with that id; what names it in a refusal.
func find[T any](ctx context.Context, q querier, kind, what, id string) (v T, err error) {
	err = q.QueryRowContext(ctx, `SELECT doc FROM record WHERE kind = ? AND id = ?`, kind, id).Scan(scanJSON{&v})
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound(what, id)
	}
	return v, err
}

func findCustomer(ctx context.Context, q querier, cuid string) (customer, error) {
	return find[customer](ctx, q, kindCustomer, "Customer", cuid)
}

// records reads all records of a kind in their order.
func records[T any](ctx context.Context, q querier, kind string) ([]T, error) {
	return query(ctx, q, func(v *T) []any { return []any{scanJSON{v}} }, `SELECT doc FROM record WHERE kind = ?
		ORDER BY n`, kind)
}

// scanJSON decodes a column into a value.
type scanJSON struct{ into any }

// Scan implements sql.Scanner.
func (s scanJSON) Scan(src any) error {
	text, is := src.(string)
	if !is {
		return nil // NULL
	}
	return json.Unmarshal([]byte(text), s.into)
}

// saveCustomer writes a customer and raises the event.
func saveCustomer(c *call, tx *sql.Tx, v customer) error {
	v.UpdatedAt = time.Unix(0, max(c.at.UnixNano(), v.UpdatedAt.UnixNano()+1)).UTC()
	err := execute(c.ctx, tx, `UPDATE record SET doc = ? WHERE kind = ? AND id = ?`, string(encode(v)), kindCustomer,
		v.Cuid)
	if err != nil {
		return err
	}
	return raiseCustomer(c, tx, v)
}

// shown is a record that is shown with the customers, by their numbers.
type shown[T any] interface {
	*T
	show(owners []customer) any
}

// getRecord answers with one record.
func getRecord[T any, P shown[T]](kind, what, param string) handler {
	return func(c *call) (any, error) {
		v, err := find[T](c.ctx, c.db, kind, what, c.param(param))
		if err != nil {
			return nil, err
		}
		owners, err := records[customer](c.ctx, c.db, kindCustomer)
		if err != nil {
			return nil, err
		}
		return item(P(&v).show(owners)), nil
	}
}

// listRecords answers with the page that the call asks for of the records that it keeps.
func listRecords[T any, P shown[T]](c *call, kind string, keep func(v P, owners []customer) bool) (any, error) {
	owners, err := records[customer](c.ctx, c.db, kindCustomer)
	if err != nil {
		return nil, err
	}
	all, err := records[T](c.ctx, c.db, kind)
	if err != nil {
		return nil, err
	}
	items := []any{}
	for i := range all {
		if v := P(&all[i]); keep(v, owners) {
			items = append(items, v.show(owners))
		}
	}
	return c.paged(items)
}

// listCustomers: GET /v2/customer.
func listCustomers(c *call) (any, error) {
	return listRecords(c, kindCustomer, func(v *customer, _ []customer) bool {
		return c.is("customerId", v.Cuid) && c.has("customerName", v.Display) && c.is("type", v.Type) &&
			c.is("status", v.Status) && c.within("fromCreateAt", "toCreateAt", v.CreatedAt)
	})
}

// listCounterparties: GET /v2/counterparty.
func listCounterparties(c *call) (any, error) {
	return listRecords(c, kindCounterparty, func(p *counterparty, owners []customer) bool {
		return c.is("counterpartyId", p.CounterpartyID) && c.has("counterpartyName", p.Profile.Name) &&
			c.is("customerId", owners[p.Customer].Cuid) && c.has("customerName", owners[p.Customer].Display) &&
			c.within("fromCreatedAt", "toCreatedAt", p.CreatedAt)
	})
}

// listAccounts: GET /v2/account. The first word of a filter stands for none.
func listAccounts(c *call) (any, error) {
	for name, words := range map[string][]string{
		"associateType": {"ASSOCIATE_TYPE_NOT_SET", "NOT_ASSOCIATE", "POOL", "COMMISSION"},
		"balance":       {"NOTSET", "POSITIVE", "NEGATIVE", "ZERO"}} {
		switch v := c.query.Get(name); {
		case v == words[0]:
			c.query.Del(name)
		case v != "" && !slices.Contains(words, v):
			return nil, refuse(http.StatusBadRequest, "Unknown "+name+": "+v)
		}
	}
	return listRecords(c, kindAccount, func(a *account, owners []customer) bool {
		return c.is("currencyIso", a.CurrencyCode) && c.is("customerId", owners[a.Customer].Cuid) &&
			c.is("associateType", a.AssociateType) && c.is("balance", a.Balance.Sum.sign())
	})
}

// The service's pages show no answer of limits and commissions in full: what is beside the members that they are
// asked by is made up.
var (
	paymentLimits = []patch{
		{"id": 1, "currencyIsoFrom": "EUR", "currencyIsoTo": "EUR", "operationLimit": amount{money{"EUR", "50000", 0}},
			"dailyLimit": amount{money{"EUR", "250000", 0}}, "createdAt": stamp(baseTime)},
		{"id": 2, "currencyIsoFrom": "USD", "currencyIsoTo": "USD", "operationLimit": amount{money{"USD", "75000", 0}},
			"dailyLimit": amount{money{"USD", "300000", 0}}, "createdAt": stamp(baseTime)},
		{"id": 3, "currencyIsoFrom": "USD", "currencyIsoTo": "EUR",
			"operationLimit": amount{money{"USD", "9999", 990_000_000}}, "createdAt": stamp(baseTime)},
	}
	commissions = []patch{
		{"currencyIsoFrom": "EUR", "currencyIsoTo": "EUR", "operationType": "WITHDRAW", "paymentType": "SEPA_CT",
			"percent": 0.1, "fixed": 0.35},
		{"currencyIsoFrom": "USD", "currencyIsoTo": "USD", "operationType": "WITHDRAW", "paymentType": "SWIFT",
			"percent": 0.25, "fixed": 15},
		{"currencyIsoFrom": "USD", "currencyIsoTo": "EUR", "operationType": "EXCHANGE", "paymentType": "EMPTY",
			"percent": 0.5, "fixed": 0},
	}
)

// tariffs answers with the page of rules that the call asks for; customer names the member that narrows to a customer,
// of whom none has a rule.
func tariffs(all []patch, customer string) handler {
	return func(c *call) (any, error) {
		items := []any{}
		for _, t := range all {
			if c.is("currencyIsoFrom", t["currencyIsoFrom"].(string)) && c.is("currencyIsoTo", t["currencyIsoTo"].(string)) &&
				c.is(customer, "") {
				items = append(items, t)
			}
		}
		return c.paged(items)
	}
}

// reportOperations: GET /v2/report/operations, a workbook of one page of operations.
// Unlike other lists it takes page and pageSize, and wants both.
func reportOperations(c *call) (any, error) {
	p := page{number: c.whole("page", -1, 0), size: c.whole("pageSize", -1, 1)}
	if c.bad != nil {
		return nil, c.bad
	}
	rows, err := queryOperations(c.ctx, c.db, `ORDER BY o.n LIMIT ? OFFSET ?`, p.size, p.number*p.size)
	if err != nil {
		return nil, err
	}
	table := [][]string{{"opid", "status", "type", "paymentType", "customer", "amount", "currency", "createdAt"}}
	for _, o := range rows {
		sum := o.amounts(c.st.Seed).source
		digits := strings.TrimRight(fmt.Sprintf("%s.%09d", sum.Units, sum.Nanos), "0")
		table = append(table, []string{o.opid(c.st.Seed), operationStatuses[o.status], operationTypes[o.typ],
			paymentTypes[o.pay], o.customer.Display, strings.TrimSuffix(digits, "."), sum.Currency, stamp(o.created)})
	}
	file, err := workbook(table)
	return patch{"data": base64.StdEncoding.EncodeToString(file), "name": ""}, err
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
