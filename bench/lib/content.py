"""The notification that everybody sends: the same text, rendered by Postrider, stored ready by the peers."""

TEMPLATE = ("Dear {{name}}, your order {{number}} left our warehouse in {{city}} this morning and should be with you within two days. "
            "You can follow it at https://shop.example.org/orders/{{number}}/track with the code that we sent you before. "
            "Thank you for your custom; tell us when anything is missing. Reference: {{number}}")
SUBJECT = "Your order {{number}} is on its way"
NAME, CITY = "Ada Lovelace", "Rotterdam"
TYPE = "order.shipped"


def body(number):
    return TEMPLATE.replace("{{name}}", NAME).replace("{{city}}", CITY).replace("{{number}}", str(number))


def payload_sql(number="i"):
    """The payload as an SQL expression over a number."""
    return f"json_build_object('number', {number}, 'name', '{NAME}', 'city', '{CITY}')"


def payload_text(number, url=""):
    address = f', "url" : "{url}"' if url else ""
    return f'{{"number" : {number}, "name" : "{NAME}", "city" : "{CITY}"{address}}}'
