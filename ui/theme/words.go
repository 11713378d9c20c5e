package theme

// Words is the theme of the plain mode: no styles, and words for the signs that
// say what no word beside them does.
func Words() *Theme {
	return &Theme{Name: "plain", Linear: true, Signs: Signs{Warn: "attention:", Mark: "marked", Up: "ascending",
		Down: "descending", More: "and", Spark: []string{""}}}
}
