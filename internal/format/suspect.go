package format

import "opdeck/api/untrusted"

// Suspicious says what is suspicious about a text from outside and quotes it exactly: `hidden characters:
// "invoice_\u202efdp.exe"`. It is "" for ordinary text.
func Suspicious(u untrusted.Text) string {
	f := u.Flags()
	if !f.Suspicious() {
		return ""
	}
	return f.Words() + ": " + untrusted.Text(u.Quoted()).Line(400)
}
