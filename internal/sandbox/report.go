package sandbox

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

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
	rows, err := queryOperations(c.ctx, c.ro, `ORDER BY o.n LIMIT ? OFFSET ?`, p.size, p.offset())
	if err != nil {
		return nil, err
	}
	list, err := renderAll(c.ctx, c.ro, c.st.dataset(), rows)
	if err != nil {
		return nil, err
	}
	table := [][]string{reportHead}
	for _, o := range list {
		b, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		table = append(table, reportRow(b))
	}
	file, err := workbook(table)
	return object{"data", base64.StdEncoding.EncodeToString(file), "name", ""}, err
}

var reportHead = []string{"opid", "status", "type", "paymentType", "customer", "amount", "currency", "createdAt"}

func reportRow(operation []byte) []string {
	var o struct {
		OPID, Status, Type, PaymentType, CreatedAt string
		Customer                                   struct{ Name string }
		SourceAmount                               struct {
			Sum struct {
				CurrencyCode, Units string
				Nanos               int
			}
		}
	}
	_ = json.Unmarshal(operation, &o) // odd records leave cells empty
	sum := o.SourceAmount.Sum
	amount := strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%s.%09d", sum.Units, max(sum.Nanos, -sum.Nanos)), "0"),
		".")
	return []string{o.OPID, o.Status, o.Type, o.PaymentType, o.Customer.Name, amount, sum.CurrencyCode, o.CreatedAt}
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
