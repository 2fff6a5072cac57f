// Package types knows the type language of LCM: it reads .lcm files, computes the fingerprints by which messages tell
// what they are, and turns messages into JSON and back without generated code.
//
// The measure of all of it is lcm-gen 1.3.1 and the C that it writes.
//
// # Files
//
//	package probe;
//
//	struct grid_t
//	{
//	    const int32_t MAX_ROWS = 64, MAX_COLS = 32;
//	    int32_t   rows, cols;
//	    double    cell[rows][cols];   // sized by members that come before
//	    string    axis[2];
//	    reading_t first;              // of the same package
//	    other.limits_t limits;
//	}
//
// The primitive types are int8_t, int16_t, int32_t, int64_t, byte, float, double, string and boolean. An enum, which
// LCM keeps for old files, travels as an int32_t. A struct may hold arrays of itself where their size is a member.
//
// # Messages
//
// A message is the fingerprint of its type, 8 bytes, and then its members in order; integers and floats are
// big-endian, arrays have no length of their own, a string is an int32_t that counts its bytes and the NUL at their
// end. The fingerprint is all by which a message tells its type: [Set.Of] looks it up. It covers the names and types
// of the members but not the name of the type, so that two types may have one fingerprint; their messages then mean
// the same.
//
// # JSON
//
// A struct is an object, its members in the order of the file. Nothing is lost: encoding what was decoded gives the
// same bytes. The same message gives the same text, byte for byte.
//
//   - Integers are numbers, with all their digits: an int64_t may be more than a JavaScript number holds.
//   - A float or double is the shortest number that reads back as itself, or "NaN", "Infinity", "-Infinity". A NaN with
//     other bits than C's NAN has them behind it: "NaN:7ff8000000000001".
//   - A boolean is true or false; another byte than 0 or 1, which C can send, is a number.
//   - A string is a string. One that is not UTF-8 is {"base64": "..."}.
//   - The bytes of the innermost dimension of a byte array are one string in base64.
//   - An enum is the name of its value, or a number if none has it.
//
// The caller's duties: not to change what a [Set] gives out; to know that a fingerprint is a weak hash, made against
// mistakes, not against malice.
package types
