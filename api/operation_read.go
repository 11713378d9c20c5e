package api

import (
	"encoding/json"
)

// Reading operations is what browsing costs most: each page of the list reads
// dozens of them from the index. fast reads the usual shapes of one without
// reflection; what is unusual (a name in another case, a name twice, a value of
// another kind) it leaves to readRecord. Where it answers, its answer is that of
// readRecord: FuzzOperation holds the two together.

// ReadOperation reads an operation and keeps body as its Raw: the caller gives
// body away. It fails where body is no JSON object.
func ReadOperation(body []byte) (Operation, error) {
	var o Operation
	if o.fast(body) {
		o.Raw = body
		return o, nil
	}
	o = Operation{}
	err := o.slow(body)
	return o, err
}

// UnmarshalJSON keeps the record as it came beside the named fields.
func (o *Operation) UnmarshalJSON(b []byte) error {
	var p Operation
	if !p.fast(b) {
		return o.slow(b)
	}
	p.Raw = append(json.RawMessage(nil), b...)
	*o = p
	return nil
}

func (o *Operation) slow(b []byte) error {
	type plain Operation
	var p plain
	if err := readRecord(b, &p); err != nil {
		return err
	}
	*o = Operation(p)
	o.Raw = append(json.RawMessage(nil), b...)
	return nil
}

// The names of each type's fields, in the order of its declaration: a test holds
// them to the tags.
var (
	operationNames = []string{"opid", "isVisible", "status", "type", "paymentType", "createdAt", "updatedAt", "source", "destination",
		"sourceAmount", "destinationAmount", "commissionAmount", "currentBalanceAmount", "comment", "isParent", "reference", "customer", "documents"}
	partyNames        = []string{"account", "counterpartyAccount"}
	accountNames      = []string{"id", "name", "number", "customer"}
	beneficiaryNames  = []string{"id", "name", "number", "counterparty"}
	counterpartyNames = []string{"suid", "name", "bankName"}
	customerNames     = []string{"cuid", "name"}
	documentNames     = []string{"guid", "fileName", "size", "mime", "docType", "info", "isLock", "createAt"}
	amountNames       = []string{"sum", "default"}
	moneyNames        = []string{"currencyCode", "units", "nanos"}
)

// fast reads o from b; false: b needs the library, and o is not to be used.
func (o *Operation) fast(b []byte) bool {
	r := reader{b: b}
	r.object(operationNames, func(i int) {
		switch i {
		case 0:
			r.text(&o.OPID)
		case 1:
			r.flag(&o.IsVisible)
		case 2:
			r.text(&o.Status)
		case 3:
			r.text(&o.Type)
		case 4:
			r.text(&o.PaymentType)
		case 5:
			r.time(&o.CreatedAt)
		case 6:
			r.time(&o.UpdatedAt)
		case 7:
			r.party(&o.Source)
		case 8:
			r.party(&o.Destination)
		case 9:
			r.amount(&o.SourceAmount)
		case 10:
			r.amount(&o.DestinationAmount)
		case 11:
			r.amount(&o.CommissionAmount)
		case 12:
			r.amount(&o.CurrentBalanceAmount)
		case 13:
			r.text(&o.Comment)
		case 14:
			r.flag(&o.IsParent)
		case 15:
			r.text(&o.Reference)
		case 16:
			r.customer(&o.Customer)
		case 17:
			r.documents(&o.Documents)
		}
	})
	return r.end()
}

func (r *reader) party(p *Party) {
	if r.null() {
		return
	}
	r.object(partyNames, func(i int) {
		switch {
		case r.null():
		case i == 0:
			p.Account = new(PartyAccount)
			r.account(p.Account)
		default:
			p.CounterpartyAccount = new(CounterpartyAccount)
			r.beneficiary(p.CounterpartyAccount)
		}
	})
}

func (r *reader) account(a *PartyAccount) {
	r.object(accountNames, func(i int) {
		switch i {
		case 0:
			r.text(&a.ID)
		case 1:
			r.text(&a.Name)
		case 2:
			r.text(&a.Number)
		case 3:
			r.customer(&a.Customer)
		}
	})
}

func (r *reader) beneficiary(a *CounterpartyAccount) {
	r.object(beneficiaryNames, func(i int) {
		switch i {
		case 0:
			r.text(&a.ID)
		case 1:
			r.text(&a.Name)
		case 2:
			r.text(&a.Number)
		case 3:
			r.counterparty(&a.Counterparty)
		}
	})
}

func (r *reader) counterparty(c *CounterpartyRef) {
	if r.null() {
		return
	}
	r.object(counterpartyNames, func(i int) {
		switch i {
		case 0:
			r.text(&c.SUID)
		case 1:
			r.text(&c.Name)
		case 2:
			r.text(&c.BankName)
		}
	})
}

func (r *reader) customer(c *CustomerRef) {
	if r.null() {
		return
	}
	r.object(customerNames, func(i int) {
		if i == 0 {
			r.text(&c.CUID)
		} else {
			r.text(&c.Name)
		}
	})
}

func (r *reader) amount(a *Amount) {
	if r.null() {
		return
	}
	r.object(amountNames, func(i int) {
		switch {
		case r.null():
		case i == 0:
			r.money(&a.Sum)
		default:
			a.Default = new(Money)
			r.money(a.Default)
		}
	})
}

func (r *reader) money(m *Money) {
	r.object(moneyNames, func(i int) {
		switch i {
		case 0:
			r.text(&m.CurrencyCode)
		case 1:
			m.Units = r.number()
		case 2:
			m.Nanos = r.number()
		}
	})
}

func (r *reader) documents(list *[]Document) {
	if r.null() {
		return
	}
	*list = []Document{}
	r.array(func() {
		*list = append(*list, Document{})
		r.document(&(*list)[len(*list)-1])
	})
}

func (r *reader) document(d *Document) {
	if r.null() {
		return
	}
	r.object(documentNames, func(i int) {
		switch i {
		case 0:
			r.text(&d.GUID)
		case 1:
			r.text(&d.FileName)
		case 2:
			r.whole(&d.Size)
		case 3:
			r.text(&d.MIME)
		case 4:
			r.text(&d.DocType)
		case 5:
			r.text(&d.Info)
		case 6:
			r.flag(&d.IsLock)
		case 7:
			r.time(&d.CreateAt)
		}
	})
}

func (r *reader) time(t *Time) { *t = timeOf(r.number()) }
