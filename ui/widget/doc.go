// Package widget holds the parts screens are drawn from: one table, one form,
// one viewer, panels, gauges. Widgets are values in a screen; they draw strings
// of a given size, know nothing of the shell and never start anything.
//
// Every function takes widths in cells and gives lines no wider than asked.
// Text is safe text (opdeck/ui/draw); what came from outside is cleaned before.
package widget
