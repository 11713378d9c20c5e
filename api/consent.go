package api

import (
	"context"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// MaxReason is how long a reason can be, in characters.
const MaxReason = 500

// Consent is what a person said with the yes to a write.
type Consent struct {
	// Reason says why. An approval binds to it, and the audit trail keeps it.
	Reason string
	// AskOnly: the yes was to ask for approval. Nothing is sent, even if a second person has approved meanwhile.
	AskOnly bool
}

type consentKey struct{}

// WithConsent makes the writes in the returned context carry c. Of the reason one safe line is kept.
func WithConsent(ctx context.Context, c Consent) context.Context {
	c.Reason = strings.TrimSpace(untrusted.Text(c.Reason).Line(MaxReason))
	return context.WithValue(ctx, consentKey{}, c)
}

// ConsentOf is the consent in ctx; the zero value for none.
func ConsentOf(ctx context.Context) Consent {
	c, _ := ctx.Value(consentKey{}).(Consent)
	return c
}

// Subject is the record that an act changes, as the gate's own read showed it. A second person judges by it, and the
// digest of the act binds to it.
type Subject struct {
	Customer string `json:"customer,omitempty"` // name
	Amount   *Sum   `json:"amount,omitempty"`
	Status   string `json:"status,omitempty"`
	Document string `json:"document,omitempty"` // file name
}

// Sum is an amount as an exact decimal text.
type Sum struct {
	Value string `json:"value"`
	Code  string `json:"currency"`
}

// Decimal is the exact value.
func (s Sum) Decimal() (*apd.Decimal, error) {
	d, _, err := apd.NewFromString(s.Value)
	return d, err
}

// Empty reports whether there is no amount.
func (s Sum) Empty() bool { return s == Sum{} }

// Currency is the code as it came.
func (s Sum) Currency() untrusted.Text { return untrusted.Text(s.Code) }

// SumOf is the amount of m; nil when it is not a number.
func SumOf(m Money) *Sum {
	d, err := m.Decimal()
	if err != nil {
		return nil
	}
	return &Sum{Value: d.Text('f'), Code: m.CurrencyCode.Line(12)}
}

// SubjectOf is the subject of an act on a document of an operation; d may be the zero value.
func SubjectOf(o Operation, d Document) Subject {
	return Subject{Customer: o.Customer.Name.Line(200), Amount: SumOf(o.SourceAmount.Sum), Status: o.Status.Line(40),
		Document: d.FileName.Line(200)}
}

// SecretDigest identifies a secret of that use in an act.
func (c *Client) SecretDigest(use string, v secret.Value) string { return c.opt.Digests.Of(use, v) }

// NeedsApproval reports whether a second person approves each write.
func (c *Client) NeedsApproval() bool { return c.opt.Gate.Approve != nil }
