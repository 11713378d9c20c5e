package sandbox

import "slices"

// person is one customer of the sample data: both kinds, long names, names in
// many scripts. All are invented.
type person struct {
	corporate               bool
	name, lastname, company string
	status                  int // code, see customerStatuses
	main, second, third     string
}

var people = []person{
	{true, "Harbour & Finch Trading", "", "Harbour & Finch Trading Ltd", 3, "EUR", "USD", "GBP"},
	{false, "Ana", "Kovačević", "", 3, "EUR", "JPY", ""},
	{true, "Blue Cedar Logistics", "", "Blue Cedar Logistics GmbH", 3, "USD", "EUR", "KWD"},
	{false, "秀英", "王", "", 3, "USD", "JPY", "BTC"},
	{true, "Tallinn Tools", "", "Tallinn Tools OÜ", 6, "EUR", "USD", ""},
	{false, "Σοφία", "Παπαδοπούλου", "", 3, "EUR", "GBP", ""},
	{true, "شركة النخيل للتجارة", "", "شركة النخيل للتجارة ذ.م.م", 3, "KWD", "USD", "EUR"},
	{false, "José María", "Fernández-Cavada y Ruiz de la Fuente del Monte Alto", "", 3, "EUR", "BTC", ""},
	{true, "さくら精密工業", "", "さくら精密工業株式会社", 3, "JPY", "USD", "EUR"},
	{false, "Дмитрий", "Соколов", "", 1, "USD", "EUR", ""},
	{true, "Maple Ridge Bakery", "", "Maple Ridge Bakery Inc.", 3, "CAD", "USD", ""},
	{false, "Priya", "Raghunathan", "", 3, "INR", "USD", ""},
	{true, "The International Consolidated Company for Maritime Insurance, Reinsurance and General Brokerage", "",
		"The International Consolidated Company for Maritime Insurance, Reinsurance and General Brokerage (Holding) S.A.", 2,
		"USD", "EUR", "JPY"},
	{false, "서연", "김", "", 3, "USD", "JPY", ""},
	{true, "Ledger Lane Crypto", "", "Ledger Lane Crypto Services AG", 3, "BTC", "EUR", "USD"},
	{false, "שירה", "כהן", "", 4, "EUR", "USD", ""},
	{true, "Zażółć Gęślą", "", "Zażółć Gęślą Jaźń sp. z o.o.", 3, "EUR", "GBP", ""},
	{false, "ราตรี", "สุขสวัสดิ์", "", 0, "USD", "EUR", ""},
	{true, "North Fjord Seafood", "", "North Fjord Seafood AS", 5, "EUR", "USD", ""},
	{false, "O'Neill-Šťastný", "D’Août 👩‍🚀", "", 6, "GBP", "EUR", "XQZ"},
}

// people are the customers: without odd ones the last has a usual name and currencies that exist.
func (w dataset) people() []person {
	if w.odd {
		return people
	}
	list := slices.Clone(people)
	list[len(list)-1] = person{false, "Niamh", "O'Neill-Šťastný", "", 6, "GBP", "EUR", ""}
	return list
}

func (p person) display() string {
	if p.corporate {
		return p.company
	}
	return p.name + " " + p.lastname
}

func (p person) kind() string {
	if p.corporate {
		return "CORPORATE"
	}
	return "INDIVIDUAL"
}

func (p person) currencies() []string {
	all := []string{p.main, p.main, p.second}
	if p.third != "" {
		all = append(all, p.third)
	}
	return all
}

var payees = []string{
	"Meridian Paper Works", "Oak & Iron Fabrication", "Clearwater Legal LLP", "Sunrise Solar Cooperative",
	"Kestrel Freight",
	"Möller & Söhne Maschinenbau", "Pacific Rim Components", "Atelier Désirée", "Ocean Gate Charter",
	"Quartz Data Centres",
	"株式会社ひかり物流", "ООО «Северный Лес»", "مؤسسة الواحة", "Green Bough Nurseries",
	"Longshore Warehousing and Cold Storage of the Eastern Seaboard",
	"Pines Dental Group", "Redstart Consulting", "Casa del Mar Imports", "Nordlys Energi", "Tide & Timber",
}

var banks = []string{
	"First Sandbox Bank", "Sample Savings Bank", "Example Mutual", "Testland Commercial Bank", "Bank of Nowhere",
	"Placeholder Trust Company",
}

// rails are the payment types that go with a currency.
func rails(currency string) []int {
	switch currency {
	case "USD":
		return []int{payACH, payFedwire, paySwift, paySwift}
	case "EUR":
		return []int{paySepa, paySepa, paySwift}
	case "BTC":
		return []int{payCrypto}
	case "INR":
		return []int{payIMPS, paySwift}
	case "CAD":
		return []int{payEFT, paySwift}
	}
	return []int{paySwift}
}

// digitsOf are the fractional digits a currency has.
func digitsOf(currency string) int {
	switch currency {
	case "JPY":
		return 0
	case "KWD":
		return 3
	case "BTC", "XQZ":
		return 8
	}
	return 2
}
