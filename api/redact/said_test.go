package redact_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"opdeck/api/redact"
)

// TestSaid: a sentence of the service shows no number of an account, a card or a person, however it is written; what
// support and the error table need stays. Said again, it stays as it is.
func TestSaid(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "Not found": "Not found",
		"IBAN DE89370400440532013000 is closed":             "IBAN ••••3000 is closed",
		"to DE89 3704 0044 0532 0130 00, please":            "to ••••3000, please",
		"to DE89\n3704\r\n0044\u20280532\n0130\n00, please": "to ••••3000, please",
		"to de89-3704-0044-0532-0130-00":                    "to ••••3000",
		"iban gb29nwbk60161331926819":                       "iban ••••6819",
		"IBAN DE00 3704 0044 0532 0130 00":                  "IBAN ••••3000", // wrong check digits
		"DE89370400440532013001 is not valid":               "••••3001 is not valid",
		"ＤＥ８９３７０４００４４０５３２０１３０００":                            "••••３０００",
		"account ４０８１７８１０":                                  "account ••••７８１０",
		"account ٤٠٨١٧٨١٠ is closed":                        "account ••••٧٨١٠ is closed",
		"account 4081\u200b7810 is closed":                  "account ••••7810 is closed",
		"Unknown account 40817810099910004312":              "Unknown account ••••4312",
		"acct. 12-34-56 12345678 is blocked":                "acct. ••••5678 is blocked",
		"account number: 00991-X":                           "account number: ••••991X",
		"Account No. 4081.7810.0999":                        "Account No. ••••0999",
		"a/c 12345":                                         "a/c ••••2345",
		"accounts 12345678, 87654321 and 11112222":          "accounts ••••5678, ••••4321 and ••••2222",
		"40817810 is not a valid account":                   "••••7810 is not a valid account",
		"requisites 40702810900000012345":                   "requisites ••••2345",
		"card 4111 1111 1111 1111 expired":                  "card ••••1111 expired",
		"Card 4111-1111-1111-1111":                          "Card ••••1111",
		"4111111111111111 was declined":                     "••••1111 was declined",
		"wallet bc1q12345678x is blocked":                   "wallet ••••678x is blocked",
		"counterparty_account=40817810":                     "counterparty_account=••••7810",
		"accountNumber=40817810":                            "accountNumber=••••7810",
		"IBAN-40817810":                                     "••••7810",
		"mail ana.lopez@example.com bounced":                "mail a••••@example.com bounced",
		`"ana lopez"@example.com bounced`:                   "a••••@example.com bounced",
		"ünal＠x.de":                                         "ü••••＠x.de",
		"call +372 5551 2345":                               "call ••••45",
		"call +49 (0)30 / 1234-5678.":                       "call ••••78.",
		"call +1.202.555.0134":                              "call ••••34",
		"(030) 1234-5678 does not answer":                   "(••••5678 does not answer",
		"tel 555-12":                                        "tel ••••12",
		"phone number 5551234 is taken":                     "phone number ••••34 is taken",
		"passport AB1234567 has expired":                    "passport ••••67 has expired",
		"date of birth 1990-01-02 is wrong":                 "date of birth ••••02 is wrong",
		"Bearer abc.def was refused":                        "•••• was refused",
		"token 1234567 is refused":                          "token •••• is refused",
		"https://x.example/accounts/40817810099910004312":   "https://x.example/accounts/••••4312",

		"Operation not found: 5b55db86-17e5-4612-81f9-29d3bd5082a1":                                                       "Operation not found: 5b55db86-17e5-4612-81f9-29d3bd5082a1",
		"Document 0a55be68-5390-0754-7034-29d3bd5082a1 is not attached to operation 0a55db86-be68-5390-0754-7034bd5082a1": "Document 0a55be68-5390-0754-7034-29d3bd5082a1 is not attached to operation 0a55db86-be68-5390-0754-7034bd5082a1",
		"account 5b55db86-17e5-4612-81f9-29d3bd5082a1 is closed":                                                          "account 5b55db86-17e5-4612-81f9-29d3bd5082a1 is closed",
		"account 5b55db8617e5461281f929d3bd5082a1 is closed":                                                              "account 5b55db8617e5461281f929d3bd5082a1 is closed",
		"Until 2026-03-02 12:00:00, error 50012":                                                                          "Until 2026-03-02 12:00:00, error 50012",
		"at 2026-03-02T12:00:00.123456789Z on 02.03.2026":                                                                 "at 2026-03-02T12:00:00.123456789Z on 02.03.2026",
		"The limit of the account is 10000.00 EUR, 250000 EUR a month":                                                    "The limit of the account is 10000.00 EUR, 250000 EUR a month",
		"upstream 192.168.100.200:8443 (HTTP 404) failed in 12345 ms":                                                     "upstream 192.168.100.200:8443 (HTTP 404) failed in 12345 ms",
		"The number of documents is 12345":                                                                                "The number of documents is 12345",
		"No operation matches; 12345 were read":                                                                           "No operation matches; 12345 were read",
		"Account closed. The reference of the file is INV-2024-000123":                                                    "Account closed. The reference of the file is INV-2024-000123",
		"Cannot modify documents for completed operations":                                                                "Cannot modify documents for completed operations",
		"shareToken is required":                                                                                          "shareToken is required",
	} {
		got := redact.Said(in)
		if got != want {
			t.Errorf("%q\nbecame %q\nwant   %q", in, got, want)
		}
		if again := redact.Said(got); again != got {
			t.Errorf("%q, again %q", got, again)
		}
	}
	if got := redact.SaidWith("acct 40817810, ana@x.de", "***"); got != "acct ***7810, a***@x.de" {
		t.Error(got)
	}
}

// TestSaidOfAnything: whatever a sentence is, Said of its result changes nothing, and a number beside a word that names
// an account does not show.
func TestSaidOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.String().Draw(t, "any")
		once := redact.Said(any)
		if again := redact.Said(once); again != once {
			t.Fatalf("%q, %q, %q", any, once, again)
		}
		word := rapid.SampledFrom([]string{"account", "Acct.", "IBAN", "card no", "requisites:", "wallet"}).Draw(t, "word")
		number := rapid.StringMatching(`[1-9][0-9]{7,24}`).Draw(t, "number")
		if said := redact.Said(any + " " + word + " " + number + " " + any); strings.Contains(said, number) {
			t.Fatalf("%q", said)
		}
	})
}

// TestALongTextIsCut: what is left out is not half a number.
func TestALongTextIsCut(t *testing.T) {
	for fill := 16<<10 - 30; fill < 16<<10; fill++ {
		in := strings.Repeat("a", fill-1) + " DE89370400440532013000 and more"
		if got := redact.Said(in); strings.Contains(got, "DE89") {
			t.Fatalf("%d: %q", fill, got[fill-5:])
		}
	}
}
