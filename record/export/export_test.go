package export

// What tests outside of the package look at.
var (
	TypeText   = lcmText
	TypeSchema = jsonText
)
