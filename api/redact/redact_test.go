package redact

import (
	"fmt"
	"strings"
	"testing"

	"opdeck/api/untrusted"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "GB29NWBK60161331926819": "••••6819", "gb29 nwbk 6016 1331 9268 19": "••••6819", "GB29-NWBK-6016-1331-9268-19": "••••6819",
		"IBANNO9386011117947, NO93.8601.1117.947!":        "IBAN••••7947, ••••7947!",
		"NO9386011117947NO9386011117947":                  "••••7947••••7947",
		"5b55db86-17e5-4612-81f9-29d3bd5082a1":            "5b55db86-17e5-4612-81f9-29d3bd5082a1",
		"0a55be68-5390-0754-7034-29d3bd5082a1":            "0a55be68-5390-0754-7034-29d3bd5082a1", // an identifier
		"0a55db86-be68-5390-0754-7034bd5082a1.":           "0a55db86-be68-5390-0754-7034bd5082a1.",
		"x0a55be68-5390-0754-7034-29d3bd5082a1":           "x0a55••••7034-29d3bd5082a1",
		"NO9386011117948":                                 "NO9386011117948",
		"MT84 MALT 0110 0001 2345 MTLC AST0 01S to Malta": "••••001S to Malta",
		"NO93\u00a08601\u00a01117\u00a0947":               "••••7947",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if Changes(in) != (in != want) {
			t.Errorf("Hides(%q) is %v", in, Changes(in))
		}
	}
}

// What is left of an IBAN may begin another one: that is masked too, and a chain of
// them as long as a body is masked in one pass.
func TestIBANsThatOverlap(t *testing.T) {
	const links = 4000
	chain := "NO93"
	for range links { // each ends in the first four characters of the next
		chain = link(t, chain)
	}
	got := Text(chain)
	if want := strings.Repeat(dots, links) + chain[len(chain)-4:]; got != want {
		t.Errorf("%.80q… became %.80q…, want %.80q…", chain, got, want)
	}
	if again := Text(got); again != got {
		t.Errorf("masked again: %.80q", again)
	}
	if got, want := TextWith("to GB29 NWBK 6016 1331 9268 19.", "***"), "to ***6819."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLastFour(t *testing.T) {
	for in, want := range map[untrusted.Text]untrusted.Text{"": "", "1": dots, "1234": dots, "12345": "••••2345", "DE89370400440532013000": "••••3000", "DE89 3704 ": "••••3704",
		"12345\x1b[2J": "••••·[2J", "••••4321": "••••4321", "日本語の口座番号": "••••口座番号"} {
		if got := LastFour(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// link continues from the beginning of a Norwegian IBAN at the end of s, so that what
// is left of it begins the next.
func link(t *testing.T, s string) string {
	t.Helper()
	head := s[len(s)-4:]
	for check := 2; check < 99; check++ {
		rest := fmt.Sprintf("8601111NO%02d", check)
		if checked([]byte(head + rest)) {
			return s + rest
		}
	}
	t.Fatalf("nothing goes on from %s", head)
	return ""
}

// TestNames: the words of a member's name, in any spelling, decide what it holds; properties of a secret are not
// masked.
func TestNames(t *testing.T) {
	for want, names := range map[Kind]string{
		Number:   "iban iban2 toIban IBAN beneficiary_iban ibanHolder accountNumber account_no Account-Number cardNumber pan PAN",
		Personal: "email e-mail emailAddress phone telephoneNumber mobile passport passportNumber passport_no taxNumber tax_id TIN inn dateOfBirth birthDate dob ssn nationalId national_id identityDocument documentNumber driverLicense address legalAddress street",
		Secret:   "password userPassword secret webhookSecret api_secret token accessToken access_token apiKey API-KEY privateKey authorization jwt jwtSecret cvv PIN pinCode pin_code otp cookie",
		Prose:    "error errors message messages reason failureReason errorMessage detail details",
		Open: "id name number units status comment reference shipping opinion panel company tinted inner spin campaign accountNotes currency taxAmount tax_rate emailVerified phoneType tokenType token_ttl secret_sha256 addressCountry " +
			"opid cuid suid isVisible createdAt documents fileName mime requisites bank bic hookUrl counterparty source destination",
	} {
		for name := range strings.FieldsSeq(names) {
			if got := KindOf(name, Open); got != want {
				t.Errorf("%s is of kind %d, want %d", name, got, want)
			}
		}
	}
}

func TestPerson(t *testing.T) {
	for in, want := range map[string]string{"ana@example.com": "a••••@example.com", "ünal@x.de": "ü••••@x.de", "+37255512345": "••••45", "1234": "••••", "": "", "@x": "••••",
		`{"a":"x@h.example","b":"P-5510-2207"}`: "••••\"}"} {
		if got := Person(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
