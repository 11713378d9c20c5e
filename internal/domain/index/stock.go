package index

// StockView is a view of the operations that everybody has: a filter and an order under a name.
type StockView struct{ Name, Filter, Sort string }

// StockViews returns the views that everybody has. Each is a line of the filter language; days are UTC.
func StockViews() []StockView {
	return []StockView{
		{"waiting for me", "is:waiting", "updated"},
		{"in doubt", "is:doubt", "updated"},
		{"stuck for two days", "phase:open updated>2d", "updated"},
		{"changed today", "updated:today", "-updated"},
		{"failed today", "phase:failed updated:today", "-updated"},
		{"large amounts", "amount>=100000", "-amount"},
	}
}
