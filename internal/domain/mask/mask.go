// Package mask hides account numbers from people whose role may not see them:
// in operations, in webhooks, and in any JSON as it came, where everything else
// stays to the letter. A number is known by the name of its field (number, iban,
// accountNumber, the values of requisites) and, in any text, by its shape: an
// IBAN whose check digits are right. Masking what is masked already changes
// nothing.
package mask

import (
	"strings"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Dot stands for what is hidden.
const Dot = "•"

const dots = Dot + Dot + Dot + Dot

// Number is an account number with all but its last four letters and digits as
// dots, "••••1234"; how long it was is not told. Four or fewer are dots only.
func Number(n untrusted.Text) untrusted.Text {
	s := strings.TrimRight(n.Line(128), " ")
	if s == "" {
		return ""
	}
	r := []rune(s)
	if len(r) <= 4 {
		return dots
	}
	return untrusted.Text(dots + string(r[len(r)-4:]))
}

// Operation is op with account numbers masked, in its fields and in Raw. op
// itself is not changed.
func Operation(op api.Operation) api.Operation {
	op.Source, op.Destination = Party(op.Source), Party(op.Destination)
	op.Customer.Name = shaped(op.Customer.Name)
	op.Comment, op.Reference = shaped(op.Comment), shaped(op.Reference)
	op.Documents = documents(op.Documents)
	op.Raw = JSON(op.Raw)
	return op
}

// Party is one side of an operation with its account number masked.
func Party(p api.Party) api.Party {
	if p.Account != nil {
		a := *p.Account
		a.ID, a.Name, a.Number = shaped(a.ID), shaped(a.Name), Number(a.Number)
		a.Customer.Name = shaped(a.Customer.Name)
		p.Account = &a
	}
	if p.CounterpartyAccount != nil {
		a := *p.CounterpartyAccount
		a.ID, a.Name, a.Number = shaped(a.ID), shaped(a.Name), Number(a.Number)
		a.Counterparty.Name, a.Counterparty.BankName = shaped(a.Counterparty.Name), shaped(a.Counterparty.BankName)
		p.CounterpartyAccount = &a
	}
	return p
}

func documents(docs []api.Document) []api.Document {
	told := false
	for _, d := range docs {
		told = told || Hides(string(d.FileName)) || Hides(string(d.Info))
	}
	if !told {
		return docs
	}
	out := make([]api.Document, len(docs))
	for i, d := range docs {
		d.FileName, d.Info = shaped(d.FileName), shaped(d.Info)
		out[i] = d
	}
	return out
}

func shaped(s untrusted.Text) untrusted.Text { return untrusted.Text(Text(string(s))) }

// Shown is raw as it may be shown or copied now: masked or as it came.
func Shown(raw []byte, masked bool) []byte {
	if masked {
		return JSON(raw)
	}
	return raw
}

// Body is the body of a webhook as it may be shown: JSON as JSON does it. In a
// body that is no JSON nothing tells what is a number, so that every run of five
// digits and more is hidden.
func Body(raw []byte) []byte {
	if valid(raw) {
		return JSON(raw)
	}
	s := Text(strings.ToValidUTF8(string(JSON(raw)), string(utf8.RuneError)))
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && digit(s[j]) {
			j++
		}
		switch {
		case j-i >= 5:
			b.WriteString(dots)
		case j > i:
			b.WriteString(s[i:j])
		default:
			j++
			b.WriteByte(s[i])
		}
		i = j
	}
	return []byte(b.String())
}
