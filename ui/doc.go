// Package ui is the shell of the console: the only tea.Model. It owns the
// layout, the stack of screens, the dialogs, the notices, the palette and the
// help. Screens (package views/...) are made through a Factory and know nothing
// of each other.
package ui
