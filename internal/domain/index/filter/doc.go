// Package filter is the language in which people say which rows they want: one
// grammar for the operations list, saved views, the export and the events feed.
//
//	status:PENDING type:WITHDRAW amount>=1000.50 currency:EUR created>2026-01-01
//	updated<2h has:locked -comment:test (customer:acme OR customer:globex) "free text"
//
// A Table says which fields there are; Parse turns text into an Expr, which
// prints itself in one canonical form, decides about one record in Go (Match)
// and becomes a condition for SQL (SQL) whose values are always arguments. Both
// ways answer alike: the store's tests hold them against each other.
//
// Amounts are exact decimals of any length; nothing here is a float.
package filter
