// Package filter is the filter language: one grammar for the operations list, saved views, the export and the events.
//
//	status:PENDING type:WITHDRAW amount>=1000.50 currency:EUR created>2026-01-01
//	updated<2h has:locked -comment:test (customer:acme OR customer:globex) "free text"
//
// A Table declares the fields; Parse converts text to an Expr, which prints itself in canonical form, matches a
// record in Go (Match) and converts to an SQL condition (SQL) whose values are always arguments. Match and SQL agree:
// the store's tests compare them.
//
// Amounts are exact decimals of any length; nothing here is a float.
package filter
